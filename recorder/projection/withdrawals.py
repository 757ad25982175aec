"""Deletes the records of withdrawn loops, and moves the lines of removed sessions.

`apply` runs before the other records of a transaction are written, the other functions after that.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence

from recorder.core.changes import (
    CallBilled,
    CallReopened,
    Change,
    LoopCleared,
    Removed,
    SegmentChanged,
    SessionMoved,
)
from recorder.core.content import labels
from recorder.core.records import (
    Anomaly,
    Approval,
    ChildRef,
    Compaction,
    EventRecord,
    Group,
    Loop,
    Record,
    Session,
    TextBlock,
    ToolCall,
    Turn,
)
from recorder.database import row_mapper, sql
from recorder.follower import redo
from recorder.pricing import rollups
from recorder.projection import removal
from recorder.search import documents

_PARTS: tuple[type[Record], ...] = (TextBlock, Approval, Compaction, ChildRef, ToolCall, Turn)


def apply(project: int, changes: Iterable[Change]) -> list[Change]:
    """Delete what the tables hold of withdrawn loops; return the changes without what was withdrawn."""
    kept = list(changes)
    cleared = {change.loop for change in kept if type(change) is LoopCleared}
    if not cleared:
        return kept
    stored = sql.list_param(loop.id for loop in cleared if loop.id)
    here = sql.in_list("loop_id")
    rollups.subtract(project, sql.in_list("r.id"), stored)
    documents.hide_loops({loop.id: loop.session.id for loop in cleared if loop.id})
    redo.mark({loop.session.id for loop in cleared if loop.session.id})
    sql.write(
        f"UPDATE recorder_eventrecord SET loop_id = NULL, turn_id = NULL WHERE {here} AND origin = 'read'",
        [[stored]],
    )
    sql.write(f"UPDATE recorder_eventrecord SET turn_id = NULL WHERE {here}", [[stored]])
    for kind in _PARTS:
        sql.write(f"DELETE FROM {row_mapper.table(kind).name} WHERE {here}", [[stored]])
    removed = {change.record for change in kept if type(change) is Removed}
    if loops := {record for record in removed if isinstance(record, Loop)}:
        _forget_loops(loops, kept)
    return list(_without_withdrawn(kept, cleared))


def _forget_loops(loops: Collection[Loop], changes: Iterable[Change]) -> None:
    """Remove all references to loops that are deleted, stored or to be written."""
    keys = [loop.id for loop in loops]
    lines = f"UPDATE recorder_eventrecord SET loop_id = NULL WHERE {sql.in_list('loop_id')}"
    sql.write(lines, [[sql.list_param(keys)]])
    removal.unlink_loops(keys)
    for group in (change for change in changes if isinstance(change, Group)):
        if group.judge in loops:
            group.judge = None


def _without_withdrawn(changes: Sequence[Change], cleared: set[Loop]) -> Iterable[Change]:
    """Yield the changes that remain: without those of a loop that precede its last withdrawal."""
    last = {change.loop: place for place, change in enumerate(changes) if type(change) is LoopCleared}
    moved = {change.session: change.into for change in changes if type(change) is SessionMoved}
    gone = {change.record for change in changes if type(change) is Removed}
    for place, change in enumerate(changes):
        loop = _loop_of(change)
        is_withdrawn = loop in cleared and place < last[loop]
        if isinstance(change, EventRecord | Anomaly):
            while change.session in moved:
                change.session = moved[change.session]
        if isinstance(change, EventRecord):
            if is_withdrawn:
                change.turn = None
                if change.origin == "read":
                    change.loop = None
            if change.loop in gone:
                change.loop = None
        elif is_withdrawn or (type(change) is SegmentChanged and change.loop in cleared):
            continue
        yield change


def _loop_of(change: Change) -> Loop | None:
    """Return the loop that a change is a part of; a loop is no part of itself, except as a billed call."""
    if isinstance(change, CallBilled | CallReopened):
        return change.record.loop if isinstance(change.record, Turn) else change.record
    record: Record | None = change if not isinstance(change, Loop | Removed) else None  # type: ignore[assignment]
    return getattr(record, "loop", None)


def smaller_sessions(changes: Iterable[Change]) -> list[Session]:
    """Return the sessions that lost a loop and are left."""
    gone = {each.record: None for each in changes if type(each) is Removed}
    sessions = {each.session: None for each in gone if isinstance(each, Loop)}
    return [session for session in sessions if session not in gone]


def without_metadata(smaller: Iterable[Session]) -> list[Session]:
    """Leave sessions the metadata of the loops that remain; return the sessions whose metadata that changes.

    One query, which reads the metadata of all loops of a session that lost one.
    """
    sessions = {session.id: session for session in smaller}
    found: dict[int, dict[str, list[str]]] = {}
    for pk, metadata in sql.read(
        "SELECT session_id, metadata FROM recorder_looprecord "
        f"WHERE {sql.in_list('session_id')} AND metadata IS NOT NULL ORDER BY started_at, id",
        sql.list_param(sessions),
    ) if sessions else ():  # fmt: skip
        found[pk] = labels.merged(found.get(pk, {}), json.loads(metadata))
    changed: list[Session] = []
    for pk, session in sessions.items():
        had, left = labels.metadata_of(session.metadata), found.get(pk, {})
        if {name: sorted(values) for name, values in had.items()} != {
            name: sorted(values) for name, values in left.items()
        }:
            session.metadata = {name: [*values] for name, values in left.items()} or None
            changed.append(session)
    return changed


def moved_sessions(changes: Iterable[Change]) -> dict[int, int]:
    """Return the stored sessions that were removed, each with the one that has its lines now."""
    into = {change.session: change.into for change in changes if type(change) is SessionMoved}
    moved: dict[int, int] = {}
    for session, target in into.items():
        last = target
        while last in into:
            last = into[last]
        if session.id:
            moved[session.id] = last.id
    return moved


def move_lines(changes: Iterable[Change]) -> None:
    """Move the lines of removed sessions to the ones that continue them."""
    for change in changes:
        if type(change) is SessionMoved and change.session.id:
            for table in ("recorder_eventrecord", "recorder_anomaly"):
                sql.write(
                    f"UPDATE {table} SET session_id = %s WHERE session_id = %s",
                    [[change.into.id, change.session.id]],
                )
            sql.write("DELETE FROM recorder_sessionlabel WHERE session_id = %s", [[change.session.id]])
