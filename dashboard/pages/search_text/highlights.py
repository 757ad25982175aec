"""Snippets cut at the ranges of their matches. The text stays text: only these ranges are marked. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a snippet: a match, or the text between two."""

    text: str
    is_match: bool = False


def parts(text: str, ranges: Iterable[tuple[int, int]]) -> tuple[Part, ...]:
    """Return the parts of a snippet in order; joined they are the snippet. Ranges may touch or overlap."""
    return tuple(part for part in _parts(text, sorted(ranges)) if part.text)


def _parts(text: str, ranges: Iterable[tuple[int, int]]) -> Iterator[Part]:
    done = 0
    for begin, end in ranges:
        first, last = max(begin, done), min(end, len(text))
        if first < last:
            yield Part(text[done:first])
            yield Part(text[first:last], is_match=True)
            done = last
    yield Part(text[done:])
