"""Encodes a line again without some earlier lines, which are to be deleted.

What the line copied from a deleted line becomes a copy of a line that stays, as far as the deleted line
copied it too. The rest is added after the line's own literals, and copied from there: `[0, start, size, 0]`.
So the literals keep their places, and whatever other lines copy from this one stays right.

Bytes of a deleted line that several lines had copied are stored once: later lines copy them from the first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from recorder.journal.delta.encoding import OWN, Element, Stored, part_of

SHORTEST = 28  # bytes; a copy of fewer from another line takes about as many bytes as they do


class _Copy(NamedTuple):
    """Bytes of a line; of a deleted one they are literals of it."""

    source: int
    start: int
    size: int
    part: int


class Homes:
    """The places where the literals of deleted lines are stored now; of one producer and day, ascending."""

    def __init__(self) -> None:
        self._of_line: dict[int, list[tuple[int, int, int, int]]] = {}  # start, end, line, start in it

    def find(self, copy: _Copy) -> tuple[int, int] | None:
        """Return the line that has these literals, and where they begin in its stored bytes."""
        for start, end, line, at in self._of_line.get(copy.source, ()):
            if start <= copy.start and copy.start + copy.size <= end:
                return line, at + copy.start - start
        return None

    def add(self, copy: _Copy, line: int, at: int) -> None:
        self._of_line.setdefault(copy.source, []).append((copy.start, copy.start + copy.size, line, at))


def without(line: int, row: Stored, deleted: Mapping[int, Stored], homes: Homes) -> Stored:
    """Return the stored form of a line that copies from no line of `deleted`.

    `deleted` holds the deleted lines that it copies from, and those that these copy from in turn.
    """
    added: list[bytes] = []
    end = len(row.own)
    elements: list[Element] = []
    for element in json.loads(row.pieces or "[]"):
        if isinstance(element, int) or line - element[0] not in deleted:
            elements.append(element)
            continue
        wanted = _Copy(line - element[0], element[1], element[2], part_of(element))
        for copy in _resolved(wanted, deleted):
            if copy.source not in deleted:
                kind = [copy.part] if copy.part < 2 else []
                elements.append([line - copy.source, copy.start, copy.size, *kind])
                continue
            home = homes.find(copy) if copy.size >= SHORTEST else None
            if home is None:
                home = line, end
                homes.add(copy, line, end)
                added.append(deleted[copy.source].own[copy.start : copy.start + copy.size])
                end += copy.size
            elements.append([line - home[0], home[1], copy.size, OWN])
    return Stored(b"".join((row.own, *added)), json.dumps(elements, separators=(",", ":")))


def _resolved(copy: _Copy, deleted: Mapping[int, Stored]) -> Iterator[_Copy]:
    """Yield a copy as copies of lines that stay, and of literals of deleted lines."""
    if copy.source not in deleted:
        yield copy
        return
    pieces = deleted[copy.source].pieces
    if copy.part == OWN or pieces is None:
        yield _Copy(copy.source, copy.start, copy.size, OWN)
        return
    begin = taken = 0
    end = copy.start + copy.size
    for element in json.loads(pieces):
        size = element if isinstance(element, int) else element[2]
        first, last = max(copy.start, begin), min(end, begin + size)
        if first < last and isinstance(element, int):
            yield _Copy(copy.source, taken + first - begin, last - first, OWN)
        elif first < last:
            inner = element[1] + first - begin
            yield from _resolved(
                _Copy(copy.source - element[0], inner, last - first, part_of(element)), deleted
            )
        begin += size
        taken += size if isinstance(element, int) else 0
        if begin >= end:
            return
