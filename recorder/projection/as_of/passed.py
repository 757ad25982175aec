"""Messages that are not told: all that came of them is that they came.

Most lines of a session are such. A message of a loop that runs is told only if it names the loop, may say how
it will end, or is the last piece of a text that streams.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from django.db import connection

from recorder.database import sql
from recorder.projection.as_of.known import OfLoop, Span

# As SQL about an event `e`. What ends outside of turns may be a limit's note.
PASSES = """(e.type IN ('MessageStart', 'MessageUpdate', 'MessageEnd') AND e.loop_id IS NOT NULL
    AND (e.type <> 'MessageEnd' OR e.turn_id IS NOT NULL)
    AND NOT e.late AND e.origin NOT IN ('told', 'kept'))"""
_KEYS = {"sqlite": "json_group_array(e.id)", "postgresql": "json_agg(e.id)::text"}


class Count(NamedTuple):
    """How many messages of a loop came, how many of them have a number in it, and the last of all."""

    events: int = 0
    sequence: int = 0
    last: int = 0

    def __or__(self, other: Count) -> Count:
        """Return the count of two loops."""
        return Count(self.events + other.events, self.sequence + other.sequence, max(self.last, other.last))


class _Alike(NamedTuple):
    """Messages of one loop in recorded order; all of them count or none, and all have a number or none."""

    loop: int
    is_counted: bool
    is_numbered: bool
    lines: Sequence[int]


class Passed:
    """The messages that were not told, by the event with which their loop began."""

    def __init__(self) -> None:
        self.lines = 0
        self._of_loop: dict[int, list[_Alike]] = defaultdict(list)

    def add(self, begin: int, some: _Alike) -> None:
        self.lines += len(some.lines)
        self._of_loop[begin].append(some)

    def count(self, begin: int | None, event: int) -> Count:
        """Count those of a loop up to an event."""
        events = sequence = last = 0
        for some in self._of_loop.get(begin or 0, ()):
            number = bisect_right(some.lines, event)
            events += number * some.is_counted
            sequence += number * some.is_numbered
            last = max(last, some.lines[number - 1] if number else 0)
        return Count(events, sequence, last)


def passing(span: Span, loops: Mapping[int, OfLoop], passed: Passed) -> set[int]:
    """Add the messages of a span that pass; return those that are told all the same. Two queries at most."""
    found = list(_found(span))
    told = {loop.title_event for loop in loops.values() if loop.title_event is not None}
    told.update(_last_pieces(span, found))
    for some in found:
        begin = loops[some.loop].start_event or 0
        told.update(some.lines[: bisect_left(some.lines, begin)])
        lines = [line for line in some.lines if line not in told]
        passed.add(begin, _Alike(some.loop, some.is_counted, some.is_numbered, lines))
    return told


def _found(span: Span) -> Iterator[_Alike]:
    rows = _gathered("e.loop_id, e.origin <> 'read', e.type <> 'MessageUpdate'", PASSES, span)
    for loop, is_counted, is_numbered, lines in rows:
        yield _Alike(loop, is_counted, is_numbered, sorted(json.loads(lines)))


def _last_pieces(span: Span, found: Iterable[_Alike]) -> Iterator[int]:
    """Return the pieces of text after which something else came in their loops, or nothing yet."""
    pieces: dict[int, list[int]] = defaultdict(list)
    for some in found:
        if not some.is_numbered:
            pieces[some.loop] = sorted([*pieces[some.loop], *some.lines])
    if not pieces:
        return
    yield from (lines[-1] for lines in pieces.values())
    for loop, others in _gathered("e.loop_id", "e.type <> 'MessageUpdate'", span):
        lines = pieces.get(loop, [])
        yield from {lines[at - 1] for other in json.loads(others) if (at := bisect_left(lines, other))}


def _gathered(by: str, where: str, span: Span) -> list[tuple[sql.Value, ...]]:
    """Return the keys of lines as JSON, for all that are alike."""
    keys = _KEYS[connection.vendor]
    statement = (
        f"SELECT {by}, {keys} FROM recorder_eventrecord e WHERE {span.here('e')} AND {where} GROUP BY {by}"
    )
    return sql.read(statement, *span.values())
