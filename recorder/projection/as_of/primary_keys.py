"""Gives records that were derived again the primary keys that they have now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from itertools import count
from typing import Any, NamedTuple, TypeAlias

from recorder.core.records import (
    Approval,
    ChildRef,
    Compaction,
    Group,
    Loop,
    ModelConfig,
    Record,
    Session,
    ToolCall,
    Turn,
)
from recorder.database import row_mapper, sql

FRESH = 10**12  # keys from here on belong to no row: records that were removed, or are never stored for long

_Natural: TypeAlias = tuple[Any, ...]


class _NaturalKey(NamedTuple):
    """Natural key of a record whose parents have their primary keys, and its columns."""

    by: Callable[[Any], _Natural]
    columns: str


_NATURAL: Mapping[type[Record], _NaturalKey] = {
    ModelConfig: _NaturalKey(lambda config: (config.key,), "key"),
    Session: _NaturalKey(lambda session: (session.session_id,), "session_id"),
    Group: _NaturalKey(lambda group: (group.session.id, group.ordinal), "session_id, ordinal"),
    Loop: _NaturalKey(lambda loop: (loop.session.id, loop.loop_id, loop.run), "session_id, loop_id, run"),
    Turn: _NaturalKey(lambda turn: (turn.loop.id, turn.ordinal), "loop_id, ordinal"),
    ToolCall: _NaturalKey(
        lambda tool: (tool.loop.id, tool.start_event or tool.end_event),
        "loop_id, COALESCE(start_event, end_event)",
    ),
    Compaction: _NaturalKey(
        lambda each: (each.loop.id, each.start_event or each.end_event),
        "loop_id, COALESCE(start_event, end_event)",
    ),
    ChildRef: _NaturalKey(
        lambda ref: (ref.loop.id, ref.event, ref.child_loop_id), "loop_id, event, child_loop_id"
    ),
    Approval: _NaturalKey(
        lambda approval: (approval.session.id, approval.request_event), "session_id, request_event"
    ),
}


class Keys:
    """The keys of a project's configs and of all records of some sessions. Nine queries."""

    def __init__(self, project: int, sessions: Collection[int]) -> None:
        here, several = sql.in_list("session_id"), sql.list_param(sessions)
        of_loops = f"loop_id IN (SELECT id FROM recorder_looprecord WHERE {here})"
        self._known: Mapping[type[Record], dict[_Natural, int]] = {
            ModelConfig: _read(ModelConfig, "project_id = %s", project),
            Session: _read(Session, sql.in_list("id"), several),
            Group: _read(Group, here, several),
            Loop: _read(Loop, here, several),
            Approval: _read(Approval, here, several),
            Turn: _read(Turn, of_loops, several),
            ToolCall: _read(ToolCall, of_loops, several),
            Compaction: _read(Compaction, of_loops, several),
            ChildRef: _read(ChildRef, of_loops, several),
        }
        self._fresh = count(FRESH)

    def give(self, records: Collection[Record]) -> None:
        """Give each record its key; records with the same natural key get theirs in order."""
        by_kind: dict[type[Record], list[Record]] = defaultdict(list)
        for record in records:
            by_kind[type(record)].append(record)
        for kind, natural in _NATURAL.items():
            known = self._known[kind].copy()
            for record in by_kind[kind]:
                record.id = known.pop(natural.by(record), 0) or next(self._fresh)
        for kind in by_kind.keys() - _NATURAL.keys():
            for record in by_kind[kind]:
                record.id = next(self._fresh)


def _read(kind: type[Record], where: str, value: sql.Value) -> dict[_Natural, int]:
    """Return the keys of rows; of rows with the same natural key the oldest."""
    columns, table = _NATURAL[kind].columns, row_mapper.table(kind).name
    found = sql.read(f"SELECT id, {columns} FROM {table} WHERE {where} ORDER BY id DESC", value)
    return {tuple(natural): key for key, *natural in found}
