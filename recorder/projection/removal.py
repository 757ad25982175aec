"""Removes the records of one session: first it is hidden, later its rows are deleted in portions.

A hidden session belongs to the project of sessions that are being deleted, which is hidden. Its spending
leaves the sums, and other sessions no longer refer to it, in the transaction that hides it.
"""

from __future__ import annotations

from collections.abc import Collection

from recorder.core.handlers.lineage import session_id_of
from recorder.database import sql
from recorder.ledger import state as ledger_state
from recorder.models import Project
from recorder.pricing import rollups
from recorder.pubsub.invalidation import Invalidation
from recorder.waste import state as waste_state

PORTION = 2_000  # rows of a transaction
_LOOPS = "SELECT id FROM recorder_looprecord WHERE session_id = %s"
_LINES = "SELECT id FROM recorder_eventrecord WHERE session_id = %s"
_OF_LOOPS = ("textblock", "compaction", "childloopref", "toolcall", "turn")
_REFERENCES = (
    ("recorder_childloopref", "child_id"),
    ("recorder_session", "parent_id"),
    ("recorder_session", "head_id"),
    ("recorder_looprecord", "parent_id"),
    ("recorder_parallelgrouprecord", "judge_id"),
    ("recorder_anomaly", "loop_id"),
)


def file_orphans(project: int, session: int, session_id: str, loop_ids: Collection[str]) -> None:
    """Place the lines that name loops of a session, but have no place, in that session."""
    prefix = f"{session_id}."
    names = [*loop_ids, *(f"spans-{loop_id[:32]}" for loop_id in loop_ids)]
    sql.write(
        f"""UPDATE recorder_eventrecord SET session_id = %s WHERE session_id IS NULL AND loop_id IS NULL
            AND ({sql.in_list("loop_key")} OR SUBSTR(loop_key, 1, {len(prefix)}) = %s)
            AND EXISTS (SELECT 1 FROM recorder_journalevent j
                        WHERE j.id = recorder_eventrecord.id AND j.project_id = %s)""",
        [(session, sql.list_param(names), prefix, project)],
    )


def hide(project: int, session: int) -> Invalidation:
    """Take a session out of its project and its sums; return what that touched."""
    rollups.subtract(project, "r.session_id = %s", session)
    ledger_state.forget_session(session)
    waste_state.forget_session(session)
    loops = [pk for (pk,) in sql.read(_LOOPS, session)]
    others = _referring_sessions(session, loops)
    touched = Invalidation(project, sessions={session, *others}, reshaped=others, deleted={session})
    _forget_spawns(session)
    unlink_loops(loops)
    # No end of stream may change it any more.
    for table in ("recorder_looprecord", "recorder_parallelgrouprecord"):
        sql.write(f"UPDATE {table} SET status = 'aborted' WHERE session_id = %s", [[session]])
    sql.write("UPDATE recorder_session SET parent_id = NULL WHERE id = %s", [[session]])
    sql.write("DELETE FROM recorder_sessionlabel WHERE session_id = %s", [[session]])
    sql.write(
        f"DELETE FROM recorder_anomaly WHERE project_id = %s AND (session_id = %s OR event IN ({_LINES}))",
        [(project, session, session)],
    )
    sql.write(
        "UPDATE recorder_session SET project_id = %s, session_id = %s WHERE id = %s",
        [(_hidden_project(), f"deleted {session}", session)],
    )
    return touched


def unlink(session: int) -> None:
    """Clear what other records refer to in a session whose project is deleted."""
    unlink_loops([pk for (pk,) in sql.read(_LOOPS, session)])


def delete_some(session: int) -> int:
    """Delete some records of a hidden session without lines; return how many, 0 if all are deleted."""
    for name in _OF_LOOPS:
        if count := _delete(f"recorder_{name}", f"loop_id IN ({_LOOPS})", session):
            return count
    if count := _delete("recorder_approval", "session_id = %s", session):
        return count
    # A step that read its lines before the session was hidden may have written about it since.
    ledger_state.forget_session(session)
    waste_state.forget_session(session)
    sql.write("UPDATE recorder_looprecord SET group_id = NULL WHERE session_id = %s", [[session]])
    for name in ("parallelgrouprecord", "looprecord"):
        sql.write(f"DELETE FROM recorder_{name} WHERE session_id = %s", [[session]])
    sql.write("DELETE FROM recorder_session WHERE id = %s", [[session]])
    return 0


def delete_unused_configs(project: int) -> None:
    """Delete the configs of a project that no call and no sum has any more: they hold settings."""
    used = " AND ".join(
        f"NOT EXISTS (SELECT 1 FROM {table} u WHERE u.config_id = recorder_modelconfig.id)"
        for table in ("recorder_looprecord", "recorder_turn", "recorder_spending")
    )
    sql.write(f"DELETE FROM recorder_modelconfig WHERE project_id = %s AND {used}", [[project]])


def unlink_loops(loops: Collection[int]) -> None:
    """Clear the references of other records to loops, and their read marks. One statement a reference."""
    wanted = sql.list_param(loops)
    for table, column in _REFERENCES:
        sql.write(f"UPDATE {table} SET {column} = NULL WHERE {sql.in_list(column)}", [[wanted]])
    sql.write(f"DELETE FROM recorder_seen WHERE {sql.in_list('loop')}", [[wanted]])


def _referring_sessions(session: int, loops: Collection[int]) -> set[int]:
    """Return the sessions that spawned loops of a session, and those that it spawned."""
    above = f"""SELECT l.session_id FROM recorder_childloopref r
                JOIN recorder_looprecord l ON l.id = r.loop_id WHERE {sql.in_list("r.child_id")}"""
    below = f"SELECT id FROM recorder_session WHERE {sql.in_list('parent_id')}"
    found = sql.read(f"{above} UNION {below}", *[sql.list_param(loops)] * 2)
    return {pk for (pk,) in found} - {session}


def _forget_spawns(session: int) -> None:
    """Undo what tool calls of a session say of the sub-agents that stay: their own lines may name it still.

    A sub-agent whose loop names its parent keeps that name, as after a rebuild without these tool calls.
    """
    spawned = sql.read(
        """SELECT DISTINCT c.id FROM recorder_childloopref r
           JOIN recorder_looprecord l ON l.id = r.loop_id
           JOIN recorder_session s ON s.id = l.session_id
           JOIN recorder_session c ON c.project_id = s.project_id AND c.session_id = r.child_session_id
           WHERE l.session_id = %s AND c.id <> s.id AND c.spawn_tool_call_id = r.tool_call_id""",
        session,
    )
    for (child,) in spawned:
        named = sql.read(
            """SELECT l.parent_loop_id FROM recorder_looprecord l
               LEFT JOIN recorder_looprecord p ON p.id = l.parent_id
               WHERE l.session_id = %s AND l.parent_loop_id IS NOT NULL
               AND (p.id IS NULL OR p.session_id <> l.session_id) ORDER BY l.start_event LIMIT 1""",
            child,
        )
        parent = named[0][0] if named else ""
        sql.write(
            """UPDATE recorder_session SET spawn_tool_call_id = '', spawn_tool_name = '', has_spawn = %s,
               parent_session_id = %s, parent_loop_id = %s WHERE id = %s""",
            [(bool(parent), session_id_of(parent), parent, child)],
        )
        sql.write(
            """UPDATE recorder_looprecord SET role = 'normal'
               WHERE session_id = %s AND role = 'sub_agent' AND parent_loop_id IS NULL AND parent_id IS NULL
               AND id IN (SELECT r.child_id FROM recorder_childloopref r
                          JOIN recorder_looprecord l ON l.id = r.loop_id WHERE l.session_id = %s)""",
            [(child, session)],
        )


def _delete(table: str, condition: str, session: int) -> int:
    rows = sql.read(f"SELECT id FROM {table} WHERE {condition} LIMIT {PORTION}", session)
    keys = [pk for (pk,) in rows]
    if keys:
        sql.write(f"DELETE FROM {table} WHERE {sql.in_list('id')}", [[sql.list_param(keys)]])
    return len(keys)


def _hidden_project() -> int:
    found, _ = Project.every.get_or_create(slug=Project.DELETING, defaults={"retention_days": None})
    return found.pk
