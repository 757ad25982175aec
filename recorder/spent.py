"""The sums of what a project spends, by hour and by day, in the transaction of its records.

They are exact after any batching: a line is fed once, so what it spends is added once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from itertools import chain
from typing import Literal

from django.db import connection

from recorder import tables
from recorder.core.changes import Loop, ModelConfig, Regrouped, Segment, Spent, Turn
from recorder.core.prices import MOST_NANO

TABLE = "recorder_spending"
Span = Literal["hour", "day"]


@dataclass(slots=True)
class Figures:
    """What is added up."""

    loops: int = 0
    failed: int = 0
    errors: int = 0
    turns: int = 0
    uncached_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    visible_tokens: int = 0
    reasoning_tokens: int = 0
    cost_nano: int = 0
    priced: int = 0
    reported: int = 0
    unpriced: int = 0
    unreconciled: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """Where it is added."""

    span: Span
    start: datetime
    config: ModelConfig | int | None  # its key: as stored records have it
    agent_id: str
    segment: Segment


FIGURES = tuple(each.name for each in fields(Figures))
BUCKETS = tuple(name for name in FIGURES if name.endswith("_tokens"))


@dataclass(slots=True)
class Sums:
    """Additions of one transaction, by the hour."""

    by_place: dict[Place, Figures] = field(default_factory=dict)

    def count(self, record: Turn | Loop, segment: Segment, sign: int = 1) -> None:
        """Add an ended turn or loop, or take it away."""
        if record.ended_at is None:
            return
        loop = record.loop if isinstance(record, Turn) else record
        hour = record.ended_at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        self._add(Place("hour", hour, record.config, loop.agent_id, segment), figures(record), sign)

    def _add(self, place: Place, more: Mapping[str, int], sign: int = 1) -> None:
        sums = self.by_place.setdefault(place, Figures())
        for name, count in more.items():
            setattr(sums, name, getattr(sums, name) + sign * count)

    def _by_day(self) -> Mapping[Place, Figures]:
        days = Sums()
        for place, sums in self.by_place.items():
            days._add(replace(place, span="day", start=place.start.replace(hour=0)), asdict(sums))
        return days.by_place

    def write(self, project: int) -> None:
        """Add them to what the table holds, by the hour and by the day."""
        moment = tables.moment()
        rows: list[tuple[tables.Value, ...]] = [
            (
                *(project, place.span, moment(place.start)),
                *(_key(place.config), place.agent_id, place.segment),
                *(max(-MOST_NANO, min(MOST_NANO, getattr(sums, name))) for name in FIGURES),
            )
            for place, sums in chain(self.by_place.items(), self._by_day().items())
            if any(getattr(sums, name) for name in FIGURES)
        ]
        tables.write(_addition(), sorted(rows, key=lambda row: (*row[1:3], row[3] or 0, *row[4:6])))


def figures(record: Turn | Loop) -> Mapping[str, int]:
    """Return what a turn that ended adds, or a loop: itself, and its call if its turns say nothing."""
    if isinstance(record, Turn):
        return {"turns": 1, **_of_call(record)}
    own = {"loops": 1, "failed": int(record.outcome == "failed"), "errors": record.errors}
    return {**own, **_of_call(record)} if record.is_one_call else own


def changed(changes: Iterable[object]) -> Sums:
    """Return what a batch adds; call it before its records are written, when the table holds those before."""
    sums = Sums()
    was: dict[Loop, Segment] = {}
    ended: list[Turn | Loop] = []
    for change in changes:
        if isinstance(change, Regrouped):
            was.setdefault(change.loop, change.was)
        elif isinstance(change, Spent):
            ended.append(change.record)
    moved = {loop: segment for loop, segment in was.items() if loop.id and loop.segment != segment}
    _move(sums, moved)
    for record in ended:
        loop = record.loop if isinstance(record, Turn) else record
        sums.count(record, loop.segment)
    return sums


def _move(sums: Sums, moved: Mapping[Loop, Segment]) -> None:
    """Take what loops have spent so far from the segment they were in, and add it to the one they are in."""
    if not moved:
        return
    loops = {loop.id: loop for loop in moved}
    for record in stored(tables.among("r.id"), tables.several(loops)):
        loop = loops[record.loop.id if isinstance(record, Turn) else record.id]
        sums.count(record, moved[loop], -1)
        sums.count(record, loop.segment)


def take_away(project: int, of_loops: str, *values: tables.Value) -> None:
    """Take away what the loops have spent that an SQL condition names: their records are about to go."""
    sums = Sums()
    for record in stored(of_loops, *values):
        loop = record.loop if isinstance(record, Turn) else record
        sums.count(record, loop.segment, -1)
    sums.write(project)
    tables.write(f"DELETE FROM {TABLE} WHERE project_id = %s AND loops = 0 AND turns = 0", [[project]])


def forget(project: int) -> None:
    """Delete the sums of a project."""
    tables.write(f"DELETE FROM {TABLE} WHERE project_id = %s", [[project]])


def stored(of_loops: str, *values: tables.Value) -> Iterable[Turn | Loop]:
    """Return the ended turns of the loops that an SQL condition names, and those loops that ended."""
    found = {loop.id: loop for loop in tables.table(Loop).select(f"WHERE {of_loops}", *values)}
    for record in tables.table(Turn).select(
        f"WHERE r.state = 'done' AND {tables.among('r.loop_id')}", tables.several(found)
    ):
        assert isinstance(record, Turn)
        loop = found[record.loop]  # type: ignore[index]  # as read, a link is a primary key
        assert isinstance(loop, Loop)
        record.loop = loop
        yield record
    yield from (
        loop
        for loop in found.values()
        if isinstance(loop, Loop) and loop.status not in ("pending", "running")
    )


def _of_call(call: Turn | Loop) -> dict[str, int]:
    adds = {
        "cost_nano": call.cost_nano or 0,
        "priced": int(call.cost_nano is not None),
        "reported": int(call.cost_source == "reported"),
        "unpriced": call.unpriced,
        "unreconciled": call.unreconciled,
    }
    return adds if call.unreconciled else {**adds, **{name: getattr(call, name) or 0 for name in BUCKETS}}


def _key(config: ModelConfig | int | None) -> int | None:
    return config.id if isinstance(config, ModelConfig) else config


def _addition() -> str:
    """Return the SQL that adds; hostile counts stop where a column would overflow."""
    least = "LEAST" if connection.vendor == "postgresql" else "MIN"
    sums = ", ".join(f"{name} = {least}({TABLE}.{name} + excluded.{name}, {MOST_NANO})" for name in FIGURES)
    columns = ("project_id", "span", "start", "config_id", "agent_id", "segment", *FIGURES)
    conflict = "(project_id, span, start, COALESCE(config_id, 0), agent_id, segment)"
    return f"{tables.insert(TABLE, columns)} ON CONFLICT {conflict} DO UPDATE SET {sums}"
