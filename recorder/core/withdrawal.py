"""Withdrawal of a loop whose events turn out to be wrong: later spans gave its trace another shape.

The loop's own records are deleted and its figures are subtracted from its session. The loop itself stays, as
one that has not started, so that its next start continues under the same primary key; one that is gone is
deleted too. Lines stay in their session.

Cost: what refers to a loop, and constant time but for `_started`, which sorts the loops of a session. Events
that follow each other may withdraw as many loops as a trace has: it is done once for all of them.

Invariant: withdrawing the events of a loop and feeding others leads to the records that the others alone
lead to, apart from primary keys and the counters of lines.
"""

from __future__ import annotations

from collections import deque
from dataclasses import MISSING, fields

from recorder.core.changes import LoopCleared, SessionMoved
from recorder.core.context import NO_PLACEMENT, EventContext, Placement, StartedLoops, Withdrawals
from recorder.core.events import LoopWithdrawn
from recorder.core.handlers import sessions
from recorder.core.records import Loop, Session
from recorder.core.spend import Tokens
from recorder.core.state import State

# The fields that survive a withdrawal: the identity of the loop, and its counters of lines.
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
    _note(context, loop)
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


def settle(context: EventContext) -> None:
    """Remove the references of withdrawn loops to others from the indexes; call it before any other event."""
    withdrawn, context.withdrawals = context.withdrawals, None
    if withdrawn is None:
        return
    state = context.state
    refs_withdrawn = [ref for loop in withdrawn.loops for ref in state.refs_of_loop.pop(loop, ())]
    loop_ids = {ref.child_loop_id for ref in refs_withdrawn}
    for index, keys in (
        (state.unlinked_refs, loop_ids),
        (state.refs_of_child, loop_ids),
        (state.unlinked_refs_of_session, {ref.child_session_id for ref in refs_withdrawn}),
    ):
        for refs in (index[key] for key in keys if key in index):
            refs[:] = [ref for ref in refs if ref.loop not in withdrawn.loops]
    for key in withdrawn.awaited:
        waiting = state.loops_awaiting_parent.get(key, [])
        waiting[:] = [loop for loop in waiting if loop not in withdrawn.loops]
    for session in {loop.session for loop in withdrawn.loops}:
        for group in state.running_groups.get(session, ()):
            if group.judge in withdrawn.loops:
                group.judge, group.named = None, []
                context.touch(group)


def _note(context: EventContext, loop: Loop) -> Withdrawals:
    withdrawn = context.withdrawals = context.withdrawals or Withdrawals()
    withdrawn.loops.add(loop)
    if loop.parent_loop_id is not None:
        withdrawn.awaited.add((loop.session, loop.parent_loop_id))
    return withdrawn


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
    del state.loops[session][loop]
    withdrawn = context.withdrawals or _note(context, loop)
    _unlink(state, loop, withdrawn)
    context.remove(loop)
    if session.loops:
        if session.head is None or not session.agent_id or not session.title:
            _describe_again(session, _started(state, session, withdrawn))
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


def _started(state: State, session: Session, withdrawn: Withdrawals) -> StartedLoops:
    """Return the loops of a session that have started, of those that are loaded."""
    if session not in withdrawn.started:
        loops = [each for each in state.loops[session] if each.started_at and not _is_withdrawn(each)]
        loops.sort(key=lambda loop: (loop.started_at, loop.loop_id))
        withdrawn.started[session] = StartedLoops(
            deque(loops),
            deque(loop for loop in loops if loop.title),
            deque(loop for loop in loops if loop.role == "normal"),
        )
    return withdrawn.started[session]


def _is_withdrawn(loop: Loop) -> bool:
    return loop.status == "pending"


def _unlink(state: State, loop: Loop, withdrawn: Withdrawals) -> None:
    """Let what is linked to a removed loop wait again for the loops that it names, as it is stored."""
    for child in (child for child in state.children.pop(loop, ()) if child.parent is loop):
        child.parent = None
        if child.parent_loop_id is not None and child.parent_loop_id != child.loop_id:
            state.loops_awaiting_parent.setdefault((child.session, child.parent_loop_id), []).append(child)
    for session in (below for below in state.sessions_below.pop(loop, ()) if below.parent is loop):
        session.parent = None
        if session.parent_loop_id:
            state.sessions_awaiting_parent.setdefault(session.parent_loop_id, []).append(session)
    for ref in state.refs_of_child.get(loop.loop_id, ()):
        if ref.child is loop and ref.loop not in withdrawn.loops:
            ref.child = None
            state.unlinked_refs.setdefault(ref.child_loop_id, []).append(ref)


def _describe_again(session: Session, started: StartedLoops) -> None:
    """Let the other loops of a session describe it, after the one that did is gone."""
    if session.head is None and (root := _left(started.roots, at=-1)) is not None:
        session.head = root
    if not session.agent_id and (first := _left(started.loops)) is not None:
        session.agent_id = first.agent_id
        session.created_at = first.started_at or session.created_at
    if not session.title and (titled := _left(started.titled)) is not None:
        session.title = titled.title


def _left(loops: deque[Loop], at: int = 0) -> Loop | None:
    """Return the first loop that is left, or with -1 the last one; forget those withdrawn before it."""
    while loops and _is_withdrawn(loops[at]):
        if at:
            loops.pop()
        else:
            loops.popleft()
    return loops[at] if loops else None
