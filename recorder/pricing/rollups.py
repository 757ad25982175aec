"""The sums of what a project spends, by hour and by day, in the transaction of its records.

They are exact after any batching: a line is fed once, so what it spends is added once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from operator import add
from typing import NamedTuple

from django.db import connection

from recorder.core.money.prices import MOST_NANO
from recorder.core.records import CallBilled, Loop, ModelConfig, Segment, SegmentChanged, Turn
from recorder.database import row_mapper, sql

TABLE = "recorder_spending"
# What is added up.
FIGURES = (
    *("loops", "failed", "errors", "turns"),
    *("uncached_tokens", "cache_read_tokens", "cache_write_tokens", "visible_tokens", "reasoning_tokens"),
    *("cost_nano", "priced", "reported", "unpriced", "unreconciled"),
)
Figures = Sequence[int]  # in that order


class Place(NamedTuple):
    """Where it is added."""

    hour: int  # from the beginning of the calendar
    config: ModelConfig | int | None  # its key: as stored records have it
    agent_id: str
    segment: Segment


@dataclass(slots=True)
class Sums:
    """Additions of one transaction, by the hour."""

    by_place: dict[Place, Figures] = field(default_factory=dict)

    def count(self, record: Turn | Loop, segment: Segment, sign: int = 1) -> None:
        """Add an ended turn or loop, or take it away."""
        if record.ended_at is None:
            return
        loop = record.loop if isinstance(record, Turn) else record
        at = record.ended_at.astimezone(UTC)
        place = Place(at.toordinal() * 24 + at.hour, record.config, loop.agent_id, segment)
        self._add(place, [sign * count for count in figures(record)])

    def _add(self, place: Place, more: Figures) -> None:
        had = self.by_place.get(place)
        self.by_place[place] = list(map(add, had, more)) if had else more

    def _by_day(self) -> Mapping[Place, Figures]:
        days = Sums()
        for (hour, config, agent_id, segment), sums in self.by_place.items():
            days._add(Place(hour // 24 * 24, config, agent_id, segment), sums)
        return days.by_place

    def write(self, project: int) -> None:
        """Add them to what the table holds, by the hour and by the day."""
        rows = [
            (project, span, *_key(place), *(max(-MOST_NANO, min(MOST_NANO, count)) for count in sums))
            for span, by_place in (("hour", self.by_place), ("day", self._by_day()))
            for place, sums in by_place.items()
            if any(sums)
        ]
        sql.write(_addition(), sorted(rows, key=lambda row: (*row[1:3], row[3] or 0, *row[4:6])))


def figures(record: Turn | Loop) -> Figures:
    """Return what a turn that ended adds, or a loop: itself, and its call if its turns say nothing."""
    if isinstance(record, Turn):
        return (0, 0, 0, 1, *_of_call(record))
    own = (1, int(record.outcome == "failed"), record.errors, 0)
    return (*own, *(_of_call(record) if record.is_one_call else _NO_CALL))


def changed(changes: Iterable[object]) -> Sums:
    """Return what a batch adds; call it before its records are written, when the table holds those before."""
    sums = Sums()
    was: dict[Loop, Segment] = {}
    ended: list[Turn | Loop] = []
    for change in changes:
        if type(change) is CallBilled:
            ended.append(change.record)
        elif type(change) is SegmentChanged:
            was.setdefault(change.loop, change.was)
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
    for record in stored(sql.in_list("r.id"), sql.list_param(loops)):
        loop = loops[record.loop.id if isinstance(record, Turn) else record.id]
        sums.count(record, moved[loop], -1)
        sums.count(record, loop.segment)


def take_away(project: int, of_loops: str, *values: sql.Value) -> None:
    """Take away what the loops have spent that an SQL condition names: their records are about to go."""
    sums = Sums()
    for record in stored(of_loops, *values):
        loop = record.loop if isinstance(record, Turn) else record
        sums.count(record, loop.segment, -1)
    sums.write(project)
    sql.write(f"DELETE FROM {TABLE} WHERE project_id = %s AND loops = 0 AND turns = 0", [[project]])


def forget(project: int) -> None:
    """Delete the sums of a project."""
    sql.write(f"DELETE FROM {TABLE} WHERE project_id = %s", [[project]])


def stored(of_loops: str, *values: sql.Value) -> Iterable[Turn | Loop]:
    """Return the ended turns of the loops that an SQL condition names, and those loops that ended."""
    found = {loop.id: loop for loop in row_mapper.table(Loop).select(f"WHERE {of_loops}", *values)}
    for record in row_mapper.table(Turn).select(
        f"WHERE r.state = 'done' AND {sql.in_list('r.loop_id')}", sql.list_param(found)
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


def _of_call(call: Turn | Loop) -> Figures:
    buckets: Figures = (
        call.uncached_tokens or 0,
        call.cache_read_tokens,
        call.cache_write_tokens,
        call.visible_tokens or 0,
        call.reasoning_tokens,
    )
    return (
        *(_NO_BUCKETS if call.unreconciled else buckets),
        call.cost_nano or 0,
        int(call.cost_nano is not None),
        int(call.cost_source == "reported"),
        call.unpriced,
        call.unreconciled,
    )


_NO_BUCKETS = (0,) * 5
_NO_CALL = (0,) * 10


def _key(place: Place) -> tuple[sql.Value, ...]:
    """Return the columns of a place: its first moment, its config's key, and the rest."""
    start = datetime.fromordinal(place.hour // 24).replace(hour=place.hour % 24, tzinfo=UTC)
    config = place.config.id if isinstance(place.config, ModelConfig) else place.config
    return sql.timestamp_encoder()(start), config, place.agent_id, place.segment


def _addition() -> str:
    """Return the SQL that adds; hostile counts stop where a column would overflow."""
    least = "LEAST" if connection.vendor == "postgresql" else "MIN"
    sums = ", ".join(f"{name} = {least}({TABLE}.{name} + excluded.{name}, {MOST_NANO})" for name in FIGURES)
    columns = ("project_id", "span", "start", "config_id", "agent_id", "segment", *FIGURES)
    conflict = "(project_id, span, start, COALESCE(config_id, 0), agent_id, segment)"
    return f"{sql.insert(TABLE, columns)} ON CONFLICT {conflict} DO UPDATE SET {sums}"
