"""Spending rollups: a project's usage and cost by hour and by day, config, agent and segment.

They are written in the transaction of the records, and are exact after any batching: each line is fed once,
so each call is added once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from operator import add
from typing import NamedTuple

from django.db import connection

from recorder.core.changes import CallBilled, CallReopened, SegmentChanged
from recorder.core.money.prices import MAX_NANO
from recorder.core.records import Loop, ModelConfig, Segment, Turn
from recorder.database import row_mapper, sql

TABLE = "recorder_spending"
# The summed columns.
FIGURES = (
    *("loops", "failed", "errors", "turns"),
    *("uncached_tokens", "cache_read_tokens", "cache_write_tokens", "visible_tokens", "reasoning_tokens"),
    *("cost_nano", "priced", "reported", "unpriced", "unreconciled"),
)
Figures = Sequence[int]  # one value for each column of FIGURES, in that order


class RollupKey(NamedTuple):
    """The key of a rollup row."""

    hour: int  # hours since the first day of the proleptic Gregorian calendar
    config: ModelConfig | int | None  # records read from the store hold the primary key
    agent_id: str
    segment: Segment


@dataclass(slots=True)
class Sums:
    """The additions of one transaction, by hour."""

    by_key: dict[RollupKey, Figures] = field(default_factory=dict)

    def count(self, record: Turn | Loop, segment: Segment, sign: int = 1) -> None:
        """Add an ended turn or loop; `sign` -1 subtracts it."""
        if record.ended_at is None:
            return
        loop = record.loop if isinstance(record, Turn) else record
        at = (record.ended_received_at or record.ended_at).astimezone(UTC)
        agent_id = (record.agent_id if isinstance(record, Turn) else "") or loop.agent_id
        key = RollupKey(at.toordinal() * 24 + at.hour, record.config, agent_id, segment)
        self._add(key, [sign * count for count in figures(record)])

    def _add(self, key: RollupKey, more: Figures) -> None:
        had = self.by_key.get(key)
        self.by_key[key] = list(map(add, had, more)) if had else more

    def _by_day(self) -> Mapping[RollupKey, Figures]:
        days = Sums()
        for (hour, config, agent_id, segment), sums in self.by_key.items():
            days._add(RollupKey(hour // 24 * 24, config, agent_id, segment), sums)
        return days.by_key

    def write(self, project: int) -> None:
        """Add the sums to the table, by hour and by day, and delete the rows of which nothing is left."""
        rows = [
            (project, span, *_columns(key), *(max(-MAX_NANO, min(MAX_NANO, count)) for count in sums))
            for span, by_key in (("hour", self.by_key), ("day", self._by_day()))
            for key, sums in by_key.items()
            if any(sums)
        ]
        sql.write(_addition(), sorted(rows, key=lambda row: (*row[1:3], row[3] or 0, *row[4:6])))
        subtracted = [(*row[:3], row[3] or 0, *row[4:6]) for row in rows if min(row[6:]) < 0]
        sql.write(f"DELETE FROM {TABLE} WHERE {_KEY} AND loops = 0 AND turns = 0", sorted(subtracted))


def figures(record: Turn | Loop) -> Figures:
    """Return what an ended turn or loop adds; a loop billed as one call adds its usage, too."""
    if isinstance(record, Turn):
        return (0, 0, record.errors, 1, *_of_call(record))
    own = (1, int(record.outcome == "failed"), record.errors - record.turn_errors, 0)
    return (*own, *(_of_call(record) if record.is_one_call else _NO_CALL))


def additions(changes: Iterable[object]) -> Sums:
    """Return what a batch adds. Call it before the records are written: it reads their previous state."""
    sums = Sums()
    was: dict[Loop, Segment] = {}
    ended: dict[Turn | Loop, None] = {}
    reopened: list[CallReopened] = []
    for change in changes:
        if type(change) is CallBilled:
            ended[change.record] = None
        elif type(change) is CallReopened:
            if change.record in ended:  # billed by an earlier line of this batch
                del ended[change.record]
            else:
                reopened.append(change)
        elif type(change) is SegmentChanged:
            was.setdefault(change.loop, change.previous)
    moved = {loop: segment for loop, segment in was.items() if loop.id and loop.segment != segment}
    _move(sums, moved)
    for record in ended:
        loop = record.loop if isinstance(record, Turn) else record
        sums.count(record, loop.segment)
    for change in reopened:
        record = change.record
        sums.count(change.billed, (record.loop if isinstance(record, Turn) else record).segment, -1)
    return sums


def _move(sums: Sums, moved: Mapping[Loop, Segment]) -> None:
    """Move the recorded spending of loops from their previous segment to the current one."""
    if not moved:
        return
    loops = {loop.id: loop for loop in moved}
    for record in ended_records(sql.in_list("r.id"), sql.list_param(loops)):
        loop = loops[record.loop.id if isinstance(record, Turn) else record.id]
        sums.count(record, moved[loop], -1)
        sums.count(record, loop.segment)


def subtract(project: int, of_loops: str, *values: sql.Value) -> None:
    """Subtract the spending of the loops that an SQL condition selects, before their records are deleted."""
    sums = Sums()
    for record in ended_records(of_loops, *values):
        loop = record.loop if isinstance(record, Turn) else record
        sums.count(record, loop.segment, -1)
    sums.write(project)


def delete(project: int) -> None:
    """Delete all rollups of a project."""
    sql.write(f"DELETE FROM {TABLE} WHERE project_id = %s", [[project]])


def ended_records(of_loops: str, *values: sql.Value) -> Iterable[Turn | Loop]:
    """Return the ended turns of the loops that an SQL condition selects, and the loops that ended."""
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
# The unique index of the table.
_KEY = (
    "project_id = %s AND span = %s AND start = %s AND COALESCE(config_id, 0) = %s AND agent_id = %s"
    " AND segment = %s"
)


def _columns(key: RollupKey) -> tuple[sql.Value, ...]:
    """Return the key columns of a row: start of the hour, config, agent, segment."""
    start = datetime.fromordinal(key.hour // 24).replace(hour=key.hour % 24, tzinfo=UTC)
    config = key.config.id if isinstance(key.config, ModelConfig) else key.config
    return sql.timestamp_encoder()(start), config, key.agent_id, key.segment


def _addition() -> str:
    """Return the UPSERT that adds; sums of hostile counts are capped where a column would overflow."""
    least = "LEAST" if connection.vendor == "postgresql" else "MIN"
    sums = ", ".join(f"{name} = {least}({TABLE}.{name} + excluded.{name}, {MAX_NANO})" for name in FIGURES)
    columns = ("project_id", "span", "start", "config_id", "agent_id", "segment", *FIGURES)
    conflict = "(project_id, span, start, COALESCE(config_id, 0), agent_id, segment)"
    return f"{sql.insert(TABLE, columns)} ON CONFLICT {conflict} DO UPDATE SET {sums}"
