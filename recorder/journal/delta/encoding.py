"""The stored form of a line: literals in the column `own`, a JSON list of literals and copies in `pieces`.

In `pieces` a number is a count of literal bytes, taken from `own` in order. A list is a copy of an earlier
line of the same producer and day, whose key is `back` lower:

    [back, start, size]     bytes of the restored source line: its own copies are followed
    [back, start, size, 0]  bytes of the source row's `own`: its copies are not followed
    [back, start, size, 1]  bytes of the restored source line inside a local stretch, which consists of
                            literals and of copies of kind 0: only these are followed
    [0, start, size, 0]     bytes of the row's own `own` after its literals: what it had copied from lines
                            that were deleted with their session (`without_lines.py`)

A row without `pieces` is the line itself. The window (`dedup_window`) bounds how deep copies of the first
kind nest. Until release 0.2.0 all copies were of the first kind, without a bound; their rows stay readable.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from recorder.journal.immutability import FINGERPRINT

OWN, LOCAL, WHOLE = 0, 1, 2  # targets of a copy, in order of what has to be read for them

Element = int | list[int]
Stretch = tuple[int, bytes]  # where a local stretch begins in the restored line, and its bytes


class Stored(NamedTuple):
    """The stored form of a line, named as its columns. Without `pieces`, `own` is the line."""

    own: bytes
    pieces: str | None = None


class SourceSize(NamedTuple):
    """The figures of a source that `fault` needs: the restored size, the size of `own`, and `pieces`."""

    size: int
    own: int
    pieces: str | None = None


def fingerprint(line: bytes) -> bytes:
    """Return the hash that replaces a pruned body, by which a duplicate of the line is recognised."""
    return hashlib.blake2b(line, digest_size=FINGERPRINT).digest()


def sources(line: int, pieces: str | None) -> set[int]:
    """Return the other lines that a line copies from."""
    return {line - element[0] for element in _elements(pieces) if isinstance(element, list) and element[0]}


def fault(line: int, size: int, own: int, pieces: str | None, near: Mapping[int, SourceSize]) -> str | None:
    """Return why a line of `size` bytes cannot be restored, None if it can.

    `near` holds the line's sources, as far as they are of the same producer and day.
    """
    elements: list[Element] = [own] if pieces is None else json.loads(pieces)
    literals = sum(element for element in elements if isinstance(element, int))
    added = 0  # behind the literals
    for copy in (element for element in elements if isinstance(element, list)):
        if copy[0] == 0 and part_of(copy) == OWN and literals <= copy[1] <= copy[1] + copy[2] <= own:
            added = max(added, copy[1] + copy[2] - literals)
            continue
        source = near.get(line - copy[0])
        if copy[0] < 1 or source is None or not _is_inside(copy, source):
            return f"line {line - copy[0]} of its producer and day has no {copy[2]} bytes from {copy[1]} on"
    if literals + added != own:
        return "the literals of its encoding do not add up to its stored bytes"
    if sum(element[2] if isinstance(element, list) else element for element in elements) != size:
        return "the literals and copies of its encoding do not add up to its size"
    return None


def restore(rows: Mapping[int, Stored], whole: Collection[int] | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield the lines `whole` of `rows` (all by default), oldest first, byte for byte.

    `rows` holds what they need: rows of whole sources with their own needs, and rows that are not in `whole`
    for their literals or local stretches.
    """
    lines = sorted(rows)
    # One list is parsed in a third of the time of as many small ones.
    every: list[list[Element]] = json.loads(f"[{','.join(rows[line].pieces or '[]' for line in lines)}]")
    elements_of = dict(zip(lines, every, strict=True))
    last = {
        line - element[0]: line
        for line, elements in elements_of.items()
        if whole is None or line in whole
        for element in elements
        if isinstance(element, list) and part_of(element) != OWN
    }
    texts: dict[int, bytes] = {}
    stretches: dict[int, list[Stretch]] = {}
    for line, elements in elements_of.items():
        if whole is not None and line not in whole:
            continue
        own, pieces = rows[line]
        if pieces is None:
            text = own
        else:
            for source in _local_sources(line, elements):
                if source not in stretches:
                    stretches[source] = _stretches(source, elements_of[source], rows)
            text = b"".join(_bytes(line, elements, rows, texts, stretches))
        if line in last:
            texts[line] = text
        # A hundred large lines, each a copy of the one before, are never in memory together.
        for element in elements:
            if isinstance(element, list) and last.get(line - element[0]) == line:
                texts.pop(line - element[0], None)
                stretches.pop(line - element[0], None)
        yield line, text


def _elements(pieces: str | None) -> list[Element]:
    found: list[Element] = json.loads(pieces or "[]")
    return found


def part_of(copy: Sequence[int]) -> int:
    """Return what a copy addresses."""
    return copy[3] if len(copy) > 3 else WHOLE


def _local_sources(line: int, elements: Iterable[Element]) -> set[int]:
    return {
        line - element[0] for element in elements if isinstance(element, list) and part_of(element) == LOCAL
    }


def _bytes(
    line: int,
    elements: Iterable[Element],
    rows: Mapping[int, Stored],
    texts: Mapping[int, bytes],
    stretches: Mapping[int, list[Stretch]],
) -> Iterator[bytes]:
    """Yield the bytes of the literals and copies of a line, in order."""
    own, at = rows[line].own, 0
    for element in elements:
        if isinstance(element, int):
            yield own[at : at + element]
            at += element
            continue
        source, start, size = line - element[0], element[1], element[2]
        part = part_of(element)
        if part == OWN:
            yield rows[source].own[start : start + size]
        elif part == WHOLE:
            yield texts[source][start : start + size]
        else:
            begin, text = _stretch_at(stretches[source], start)
            yield text[start - begin : start - begin + size]


def _stretches(line: int, elements: Iterable[Element], rows: Mapping[int, Stored]) -> list[Stretch]:
    """Return the local stretches of a line: its literals and literal copies, joined where they touch."""
    own, pieces = rows[line]
    if pieces is None:
        return [(0, own)]
    found: list[tuple[int, list[bytes]]] = []
    taken = at = 0
    is_open = False
    for element in elements:
        is_literal = isinstance(element, int)
        if isinstance(element, list) and part_of(element) != OWN:
            at, is_open = at + element[2], False
            continue
        if not is_open:
            found.append((at, []))
            is_open = True
        if isinstance(element, list):
            text = rows[line - element[0]].own[element[1] : element[1] + element[2]]
        else:
            text = own[taken : taken + element]
        taken += len(text) if is_literal else 0
        at += len(text)
        found[-1][1].append(text)
    return [(begin, b"".join(texts)) for begin, texts in found]


def _stretch_at(stretches: list[Stretch], start: int) -> Stretch:
    return stretches[bisect_right(stretches, start, key=lambda stretch: stretch[0]) - 1]


def _is_inside(copy: Sequence[int], source: SourceSize) -> bool:
    """Return whether the source has the bytes that a copy addresses."""
    start, end, part = copy[1], copy[1] + copy[2], part_of(copy)
    if part != LOCAL or source.pieces is None:
        return end <= (source.own if part == OWN else source.size)
    at = begin = 0  # of the element, and of the local stretch it is in
    for element in [*_elements(source.pieces), [0, 0, 0]]:
        if isinstance(element, list) and part_of(element) != OWN:
            if begin <= start and end <= at:
                return True
            begin = at + element[2]
        at += element[2] if isinstance(element, list) else element
    return False
