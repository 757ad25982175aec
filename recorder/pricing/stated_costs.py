"""Computes again what sessions cost beside the calls in their transcripts, after these calls are written.

The sum of the calls before the last statement is kept with the statements of a session. `pending` reads what
changed calls were before they are written, and `restate` adds the difference to the sum.

Cost: nothing for a session whose agent states no cost; else a few statements a session, of which those that
read calls read the changed ones. All calls of a session are summed when its agent states a cost, when a loop
of it is withdrawn or has a cost reported, and when prices change.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from recorder.core.changes import CallReopened, Change, CostReported, CostStated, LoopCleared, Removed
from recorder.core.costs.stated_costs import (
    NOTHING,
    ROLE,
    TOKENS,
    Figures,
    Statement,
    Statements,
    rest_loop,
    statements_of,
    with_recorded,
)
from recorder.core.records import Loop, Session, Turn
from recorder.database import row_mapper, sql
from recorder.models.fields import JsonText
from recorder.pricing.rollups import Sums
from recorder.pricing.totals import add_up

_COLUMNS = (*(f"{name}_tokens" for name in TOKENS), "uncached_tokens", "visible_tokens")
_SUMS = ", ".join(f"COALESCE(SUM({name}), 0)" for name in ("cost_nano", *_COLUMNS[: len(TOKENS)]))
_SHOWN = ("producer", "agent_id", "started_at", "cost_nano", *_COLUMNS)  # columns in which rests differ


@dataclass(frozen=True, slots=True)
class Restated:
    """The loops of what is in no transcript that were written, created among them, and removed."""

    written: list[Loop] = field(default_factory=list)
    created: list[Loop] = field(default_factory=list)
    removed: list[Loop] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Pending:
    """A session whose rest is to be computed again: its changed calls, and their sum before they change.

    `before` is None if all calls of the session are to be summed.
    """

    session: Session
    turns: Sequence[Turn] = ()
    before: Figures | None = None


def pending(changes: Iterable[Change]) -> list[Pending]:
    """Return the sessions of which a call or a statement changed; call it before the records are written."""
    gone = {change.record for change in changes if type(change) is Removed}
    turns: dict[Session, dict[Turn, None]] = defaultdict(dict)
    summed_again: set[Session] = set()
    for change in changes:
        if type(change) is CostStated:
            turns.setdefault(change.session, {})
        elif isinstance(change, Turn) and change.loop.session.stated is not None:
            turns[change.loop.session][change] = None
            if change.state == "cut":  # what was billed of it is taken back
                summed_again.add(change.loop.session)
        elif (loop := _loop_summed_again(change)) is not None and loop.session.stated is not None:
            summed_again.add(loop.session)
    found = [Pending(session) for session in summed_again - gone]
    for session, changed in turns.items():
        if session not in summed_again and session not in gone:
            found.append(_pending(session, list(changed)))
    return found


def _loop_summed_again(change: Change) -> Loop | None:
    """Return the loop whose calls are no longer stored, or have costs that no record in the changes has."""
    if isinstance(change, LoopCleared | CostReported):
        return change.loop
    if type(change) is CallReopened:
        return change.record.loop if isinstance(change.record, Turn) else change.record
    return None


def restate(project: int, changed: Collection[Pending], key_of: Callable[[Loop], int]) -> Restated:
    """Compute again the rest of sessions, whose records are written, and change their sums.

    `key_of` returns the primary key that a loop had before a rebuild, 0 without one.
    """
    found = Restated()
    sums = Sums()
    for each in sorted(changed, key=lambda each: each.session.id):
        statements = statements_of(each.session.stated)
        if statements is not None:
            recorded = _recorded(each, statements)
            _keep_recorded(each.session, statements, recorded)
            _restate(project, each, statements, recorded, sums, found, key_of)
    sums.write(project)
    return found


def of_keys(project: int, keys: Collection[int]) -> None:
    """Compute again the rest of the sessions among `keys` that have one."""
    rows = row_mapper.table(Session).select(
        f"WHERE r.stated IS NOT NULL AND {sql.in_list('r.id')}", sql.list_param(keys)
    )
    restate(project, [Pending(each) for each in rows if isinstance(each, Session)], lambda _: 0)


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
    changed: Pending,
    statements: Statements,
    recorded: Figures,
    sums: Sums,
    found: Restated,
    key_of: Callable[[Loop], int],
) -> None:
    session = changed.session
    had = next(iter(_rests([session.id], f"{session.session_id}.{ROLE}")), None)
    rest = _rest(project, statements, recorded)
    producer = _producer(changed, had) if rest.nano else None
    loop = None if producer is None else rest_loop(session, producer, rest, statements.all[-1].after)
    if _is_same(had, loop) and (had is None or changed.before is not None):
        return
    if had is not None:
        sums.count(had, had.segment, -1)
    if loop is not None:
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


def _is_same(had: Loop | None, loop: Loop | None) -> bool:
    """Return whether a rest is as it was; then the sums above it are right, unless a call was taken back."""
    if had is None or loop is None:
        return had is loop
    return all(getattr(had, name) == getattr(loop, name) for name in _SHOWN)


def _rest(project: int, statements: Statements, recorded: Figures) -> Figures:
    """Return what the last statement has more than the calls before it, and than the origin of a fork."""
    begin = NOTHING
    if statements.origin:
        if _is_deleted(project, statements.origin):
            return NOTHING  # what it cost is deleted too, and is a part of the statement
        origin = _statements(project, statements.origin)
        begin = origin.before_fork(statements.began) if origin is not None else NOTHING
    return statements.total.minus(begin.plus(recorded))


def _pending(session: Session, turns: Sequence[Turn]) -> Pending:
    statements = statements_of(session.stated)
    if statements is None or statements.recorded is None:
        return Pending(session)
    return Pending(session, turns, _sums_of(turns, statements.all[-1]))


def _recorded(changed: Pending, statements: Statements) -> Figures:
    """Return the sums of a session's calls before its last statement ended."""
    last = statements.all[-1]
    if changed.before is None or statements.recorded is None:
        of_session = "loop_id IN (SELECT id FROM recorder_looprecord WHERE session_id = %s)"
        return _sums(of_session, changed.session.id, last)
    after = _sums_of(changed.turns, last)
    return _added(statements.recorded, after, changed.before)


def _added(recorded: Figures, after: Figures, before: Figures) -> Figures:
    """Return sums with some calls as they are after a change in place of what they were before."""
    parts = zip(recorded.tokens, after.tokens, before.tokens, strict=True)
    tokens = [whole + more - less for whole, more, less in parts]
    return Figures(recorded.nano + after.nano - before.nano, tokens)


def _sums_of(turns: Iterable[Turn], last: Statement) -> Figures:
    """Return the sums of those of some calls, as they are stored, that are before a statement."""
    stored = [turn.id for turn in turns if turn.id]
    return _sums(sql.in_list("id"), sql.list_param(stored), last) if stored else NOTHING


def _sums(where: str, value: sql.Value, last: Statement) -> Figures:
    """Return the sums of the calls of a condition that are before a statement."""
    statement = f"SELECT {_SUMS} FROM recorder_turn WHERE {where}"
    values: list[sql.Value] = [value]
    if last.until is not None:
        statement += " AND COALESCE(ended_at, started_at) < %s"
        values.append(sql.timestamp_encoder()(last.until))
    ((nano, *tokens),) = sql.read(statement, *values)
    return Figures(int(nano), [int(count) for count in tokens])


def _keep_recorded(session: Session, statements: Statements, recorded: Figures) -> None:
    """Keep the sum of the calls before the last statement with the statements."""
    had = statements.recorded
    if had is None or (had.nano, [*had.tokens]) != (recorded.nano, [*recorded.tokens]):
        session.stated = with_recorded(session.stated, recorded)
        stored = JsonText().get_prep_value(session.stated)
        sql.write("UPDATE recorder_session SET stated = %s WHERE id = %s", [[stored, session.id]])


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


def _rests(sessions: Collection[int], loop_id: str = "") -> list[Loop]:
    """Return the rests of sessions; `loop_id` finds that of one session by its key."""
    where = f"WHERE r.role = '{ROLE}' AND {sql.in_list('r.session_id')}"
    by_key = (" AND r.loop_id = %s", loop_id) if loop_id else ("",)
    rows = row_mapper.table(Loop).select(where + by_key[0], sql.list_param(sessions), *by_key[1:])
    return [each for each in rows if isinstance(each, Loop)]


def _producer(changed: Pending, had: Loop | None) -> int | None:
    """Return the producer of a session's first loop; None if it has none but the rest."""
    if had is not None and changed.before is not None:  # then no loop was removed; new ones are not first
        return had.producer
    # `+ 0`: PostgreSQL may read the loops of all sessions in the order of the primary key, to sort none.
    rows = sql.read(
        f"""SELECT producer_id FROM recorder_looprecord
            WHERE session_id = %s AND role <> '{ROLE}' ORDER BY id + 0 LIMIT 1""",
        changed.session.id,
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
