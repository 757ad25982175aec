"""Computes again what sessions cost beside the calls in their transcripts, after these calls are written.

Cost: nothing for a session whose agent states no cost; else a few statements a session, one of which sums its
turns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from recorder.core.costs.stated_costs import (
    NOTHING,
    ROLE,
    TOKENS,
    Figures,
    Statement,
    Statements,
    rest_loop,
    statements_of,
)
from recorder.core.records import Loop, Session
from recorder.database import row_mapper, sql
from recorder.models.fields import JsonText
from recorder.pricing.rollups import Sums
from recorder.pricing.totals import add_up

_COLUMNS = (*(f"{name}_tokens" for name in TOKENS), "uncached_tokens", "visible_tokens")
_SUMS = ", ".join(f"COALESCE(SUM({name}), 0)" for name in ("cost_nano", *_COLUMNS[: len(TOKENS)]))


@dataclass(frozen=True, slots=True)
class Restated:
    """The loops of what is in no transcript that were written, created among them, and removed."""

    written: list[Loop] = field(default_factory=list)
    created: list[Loop] = field(default_factory=list)
    removed: list[Loop] = field(default_factory=list)


def restate(project: int, sessions: Collection[Session], key_of: Callable[[Loop], int]) -> Restated:
    """Compute again the rest of sessions, whose records are written, and change their sums.

    `key_of` returns the primary key that a loop had before a rebuild, 0 without one.
    """
    found = Restated()
    sums = Sums()
    for session in sorted(sessions, key=lambda each: each.id):
        statements = statements_of(session.stated)
        if statements is not None:
            _restate(project, session, statements, sums, found, key_of)
    sums.write(project)
    return found


def of_keys(project: int, keys: Collection[int]) -> None:
    """Compute again the rest of the sessions among `keys` that have one."""
    rows = row_mapper.table(Session).select(
        f"WHERE r.stated IS NOT NULL AND {sql.in_list('r.id')}", sql.list_param(keys)
    )
    restate(project, [each for each in rows if isinstance(each, Session)], lambda _: 0)


def forget(project: int, sessions: Collection[int]) -> None:
    """Remove the rest of sessions that are removed."""
    if not sessions:
        return
    sums = Sums()
    gone = _rests(sessions)
    for loop in gone:
        sums.count(loop, loop.segment, -1)
    sums.write(project)
    sql.write("DELETE FROM recorder_looprecord WHERE id = %s", [[loop.id] for loop in gone])


def _restate(
    project: int,
    session: Session,
    statements: Statements,
    sums: Sums,
    found: Restated,
    key_of: Callable[[Loop], int],
) -> None:
    last = statements.all[-1]
    had = next(iter(_rests([session.id])), None)
    rest = _rest(project, session, statements, last)
    producer = _producer(session) if rest.nano else None
    if had is None and producer is None:
        return
    if had is not None:
        sums.count(had, had.segment, -1)
    loop = None
    if producer is not None:
        loop = rest_loop(session, producer, rest, last.after)
        loop.id = had.id if had is not None else key_of(loop) or next(_new_keys())
        row_mapper.table(Loop).put([loop], project)
        sums.count(loop, loop.segment)
        found.written.append(loop)
        if had is None:
            found.created.append(loop)
    elif had is not None:
        had.session = session
        sql.write("DELETE FROM recorder_looprecord WHERE id = %s", [[had.id]])
        found.removed.append(had)
    _add_to_session(session, had, loop)


def _rest(project: int, session: Session, statements: Statements, last: Statement) -> Figures:
    """Return what the last statement has more than the calls before it, and than the origin of a fork."""
    begin = NOTHING
    if statements.origin:
        if _is_deleted(project, statements.origin):
            return NOTHING  # what it cost is deleted too, and is a part of the statement
        origin = _statements(project, statements.origin)
        begin = origin.before_fork(statements.began) if origin is not None else NOTHING
    return statements.total.minus(begin.plus(_recorded(session, last)))


def _recorded(session: Session, last: Statement) -> Figures:
    """Return the sums of a session's calls before its last statement ended."""
    own = "SELECT id FROM recorder_looprecord WHERE session_id = %s"
    statement = f"SELECT {_SUMS} FROM recorder_turn WHERE loop_id IN ({own})"
    values: list[sql.Value] = [session.id]
    if last.until is not None:
        statement += " AND COALESCE(ended_at, started_at) < %s"
        values.append(sql.timestamp_encoder()(last.until))
    ((nano, *tokens),) = sql.read(statement, *values)
    return Figures(int(nano), [int(count) for count in tokens])


def _statements(project: int, session_id: str) -> Statements | None:
    rows = sql.read(
        "SELECT stated FROM recorder_session WHERE project_id = %s AND session_id = %s", project, session_id
    )
    return statements_of(JsonText().from_db_value(rows[0][0])) if rows else None


def _is_deleted(project: int, session_id: str) -> bool:
    return bool(
        sql.read(
            "SELECT 1 FROM recorder_deletion WHERE project_id = %s AND session_id = %s LIMIT 1",
            *(project, session_id),
        )
    )


def _rests(sessions: Collection[int]) -> list[Loop]:
    where = f"WHERE r.role = '{ROLE}' AND {sql.in_list('r.session_id')}"
    rows = row_mapper.table(Loop).select(where, sql.list_param(sessions))
    return [each for each in rows if isinstance(each, Loop)]


def _producer(session: Session) -> int | None:
    """Return the producer of a session's first loop; None if it has none but the rest."""
    rows = sql.read(
        f"""SELECT producer_id FROM recorder_looprecord
            WHERE session_id = %s AND role <> '{ROLE}' ORDER BY id LIMIT 1""",
        session.id,
    )
    return int(rows[0][0]) if rows else None


def _add_to_session(session: Session, had: Loop | None, loop: Loop | None) -> None:
    """Replace the previous rest in the sums of its session by the present one."""
    for name in _COLUMNS:
        was, now = (0 if each is None else getattr(each, name) for each in (had, loop))
        setattr(session, name, max(0, (getattr(session, name) or 0) + now - was))
    columns = ", ".join(f"{name} = %s" for name in _COLUMNS)
    values = [getattr(session, name) for name in _COLUMNS]
    sql.write(f"UPDATE recorder_session SET {columns} WHERE id = %s", [[*values, session.id]])
    add_up("recorder_looprecord", "session_id", "recorder_session", {session.id})
    ((session.cost_nano, session.unpriced, session.cost_source),) = sql.read(
        "SELECT cost_nano, unpriced, cost_source FROM recorder_session WHERE id = %s", session.id
    )


def _new_keys() -> Iterator[int]:
    return sql.next_ids({"recorder_looprecord": 1})["recorder_looprecord"]
