"""Withdrawal of a loop whose events turn out to be wrong: later spans gave its trace another shape.

The loop's own records are deleted and its figures are subtracted from its session. The loop itself stays, as
one that has not started, so that its next start continues under the same primary key; one that is gone is
deleted too. Lines stay in their session.

Invariant: withdrawing the events of a loop and feeding others leads to the records that the others alone
lead to, apart from primary keys and the counters of lines.
"""

from __future__ import annotations

from dataclasses import MISSING, fields

from recorder.core.changes import LoopCleared, SessionMoved
from recorder.core.context import NO_PLACEMENT, EventContext, Placement
from recorder.core.events import LoopWithdrawn
from recorder.core.handlers import sessions
from recorder.core.records import Loop, Session
from recorder.core.spend import Tokens
from recorder.core.state import State

# What survives a withdrawal: the identity of the loop, and its counters of lines.
_KEPT = frozenset(
    ("id", "session", "loop_id", "run", "producer", "events", "late", "unknown", "sequence", "group", "role")
)
_TOKENS = tuple(each.name for each in fields(Tokens))
_COUNTS = (*_TOKENS, "turns", "tool_calls", "errors", "compactions", "unreconciled", "unpriced")
_SUMS = ("uncached_tokens", "visible_tokens", "cost_nano")


def withdraw(context: EventContext, event: LoopWithdrawn) -> Placement:
    """Withdraw the events of a loop."""
    state = context.state
    session = state.sessions.get(event.session_id)
    if session is None:
        return NO_PLACEMENT
    _adopt(context, session, event.adopts)
    runs = state.runs.get((session, event.loop_id), [])
    return _withdraw(context, event, session, runs[-1]) if runs else Placement(session)


def _adopt(context: EventContext, session: Session, key: str | None) -> None:
    """Give a session the lines that wait for a loop which a transcript covers."""
    for record in context.state.orphans.pop(key or "", ()):
        record.session, record.loop_key = session, ""
        session.events += 1
        context.touch(record)
        context.touch(session)


def _withdraw(context: EventContext, event: LoopWithdrawn, session: Session, loop: Loop) -> Placement:
    state = context.state
    if loop.status != "pending":
        _subtract(session, loop, event.sub_agents)
    _forget_parts(state, loop)
    state.forget_found()
    cleared = LoopCleared(loop)
    context.changes[cleared] = cleared
    state.take_back_end(loop)
    _reset(loop)
    context.touch(loop)
    context.touch(session)
    if event.is_gone:
        _remove(context, session, loop, event.moved_to)
        return Placement(session) if session.loops else NO_PLACEMENT
    sessions.update_status(session)
    return Placement(session)


def _subtract(session: Session, loop: Loop, sub_agents: int) -> None:
    session.loops -= 1
    session.open_loops -= loop.status == "running"
    session.sub_agents = max(0, session.sub_agents - sub_agents)
    for name in _COUNTS:
        setattr(session, name, max(0, getattr(session, name) - getattr(loop, name)))
    for name in _SUMS:
        own = getattr(loop, name)
        if own is not None:
            setattr(session, name, max(0, (getattr(session, name) or 0) - own))
    if not session.loops:
        session.cost_nano, session.cost_source, session.metadata = None, "none", None
    if not session.loops or session.created_at == loop.started_at:  # the next start describes it anew
        session.agent_id = ""
    if not session.title_given and session.title == loop.title:
        session.title = ""


def _forget_parts(state: State, loop: Loop) -> None:
    state.last_turns.pop(loop, None)
    state.turns_without_usage.pop(loop, None)
    state.running_tools.pop(loop, None)
    state.running_compactions.pop(loop, None)
    state.text_blocks.pop(loop, None)
    state.running_loops.get(loop.producer, {}).pop(loop, None)
    for index in (state.unlinked_refs, state.unlinked_refs_of_session, state.refs_of_child):
        for refs in index.values():
            refs[:] = [ref for ref in refs if ref.loop is not loop]
    if loop.parent_loop_id is not None:
        waiting = state.loops_awaiting_parent.get((loop.session, loop.parent_loop_id), [])
        waiting[:] = [each for each in waiting if each is not loop]


def _reset(loop: Loop) -> None:
    """Set the fields of a loop to those of one that has not started."""
    for each in fields(Loop):
        if each.name not in _KEPT and each.default is not MISSING:
            setattr(loop, each.name, each.default)
    loop.status, loop.role = "pending", "normal"


def _remove(context: EventContext, session: Session, loop: Loop, moved_to: str | None) -> None:
    state = context.state
    state.runs[session, loop.loop_id].remove(loop)
    if state.latest.get(loop.loop_id) is loop:
        del state.latest[loop.loop_id]
    if state.latest_of_producer.get((loop.producer, loop.loop_id)) is loop:
        del state.latest_of_producer[loop.producer, loop.loop_id]
    if session.head is loop:
        session.head = None
    _unlink(state, loop)
    context.remove(loop)
    if session.loops:
        _describe_again(session, _started(state, session))
        sessions.update_status(session)
        return
    into = state.sessions.get(moved_to or "")
    if into is None or into is session:
        return
    del state.sessions[session.session_id]
    context.remove(session)
    moved = SessionMoved(session, into)
    context.changes[moved] = moved
    into.events += session.events
    context.touch(into)


def _unlink(state: State, loop: Loop) -> None:
    """Let what is linked to a removed loop wait again for the loops that it names, as it is stored."""
    for child in [each for runs in state.runs.values() for each in runs if each.parent is loop]:
        child.parent = None
        if child.parent_loop_id is not None and child.parent_loop_id != child.loop_id:
            state.loops_awaiting_parent.setdefault((child.session, child.parent_loop_id), []).append(child)
    for session in [each for each in state.sessions.values() if each.parent is loop]:
        session.parent = None
        if session.parent_loop_id:
            state.sessions_awaiting_parent.setdefault(session.parent_loop_id, []).append(session)
    for ref in [each for each in state.refs_of_child.get(loop.loop_id, ()) if each.child is loop]:
        ref.child = None
        state.unlinked_refs.setdefault(ref.child_loop_id, []).append(ref)


def _started(state: State, session: Session) -> list[Loop]:
    """Return the loops of a session that are loaded and started, in order of their start."""
    runs = (runs[-1] for (of, _), runs in state.runs.items() if of is session and runs)
    return sorted(
        (loop for loop in runs if loop.started_at is not None and loop.status != "pending"),
        key=lambda loop: (loop.started_at, loop.loop_id),
    )


def _describe_again(session: Session, started: list[Loop]) -> None:
    """Let the other loops of a session describe it, after the one that did is gone."""
    roots = [loop for loop in started if loop.role == "normal"]
    if session.head is None and roots:
        session.head = roots[-1]
    if not session.agent_id and started:
        session.agent_id = started[0].agent_id
        session.created_at = started[0].started_at or session.created_at
    if not session.title:
        session.title = next((loop.title for loop in started if loop.title), "")
