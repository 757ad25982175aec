"""A line as it is stored: bytes of its own, and pieces of earlier lines that hold the same bytes.

`pieces` is JSON, so that a query can follow it: a number is so many of the row's own bytes, and
`[back, start, size]` a part of the line whose key is so much lower.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from recorder.append_only import FINGERPRINT

Piece = int | list[int]


class Stored(NamedTuple):
    """What a row holds of its line. Without `pieces` its own bytes are the line."""

    own: bytes
    pieces: str | None = None


def fingerprint(line: bytes) -> bytes:
    """Return what is kept of a line whose body was pruned: by it one that comes again is known."""
    return hashlib.blake2b(line, digest_size=FINGERPRINT).digest()


def sources(line: int, pieces: str | None) -> set[int]:
    """Return the lines that a line has pieces of."""
    return _sources(line, json.loads(pieces or "[]"))


def fault(line: int, size: int, own: int, pieces: str | None, sizes: Mapping[int, int]) -> str | None:
    """Return why a line of `size` bytes cannot be put together of lines of these `sizes`, None if it can."""
    parts: list[Piece] = [own] if pieces is None else json.loads(pieces)
    for back, start, length in (part for part in parts if isinstance(part, list)):
        if back < 1 or start + length > sizes.get(line - back, 0):
            return f"line {line - back} of its producer and day has no {length} bytes from {start} on"
    if sum(part for part in parts if isinstance(part, int)) != own:
        return "it has not as many bytes of its own as its pieces say"
    if sum(part[2] if isinstance(part, list) else part for part in parts) != size:
        return "its pieces do not add up to its size"
    return None


def restore(rows: Mapping[int, Stored]) -> Iterator[tuple[int, bytes]]:
    """Yield each line of `rows`, oldest first, byte for byte. What they are made of must be among them."""
    pieces: dict[int, list[Piece]] = {line: json.loads(row.pieces or "[]") for line, row in rows.items()}
    needed = Counter(source for line, of in pieces.items() for source in _sources(line, of))
    texts: dict[int, bytes] = {}
    for line in sorted(rows):
        own, packed = rows[line]
        text = own if packed is None else b"".join(_cut(line, own, pieces[line], texts))
        if needed[line]:
            texts[line] = text
        for source in _sources(line, pieces[line]):
            needed[source] -= 1
            if not needed[source]:  # a hundred large lines, each made of the one before, are never all here
                del texts[source]
        yield line, text


def _sources(line: int, pieces: Iterable[Piece]) -> set[int]:
    return {line - piece[0] for piece in pieces if isinstance(piece, list)}


def _cut(line: int, own: bytes, pieces: Iterable[Piece], texts: Mapping[int, bytes]) -> Iterator[bytes]:
    at = 0
    for piece in pieces:
        if isinstance(piece, list):
            back, start, size = piece
            yield texts[line - back][start : start + size]
        else:
            yield own[at : at + piece]
            at += piece
