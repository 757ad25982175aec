"""Handlers of Loopscope's own events: approvals, errors, notices, session facts, links to sub-agents."""

from __future__ import annotations

from recorder.core.content.text import clean
from recorder.core.context import NO_PLACEMENT, EventContext, Placement
from recorder.core.events import (
    AgentSwitched,
    Annotation,
    ApprovalRequested,
    ApprovalResolved,
    ErrorRaised,
    InputRejected,
    Notice,
    SessionInfo,
    SubAgentLinked,
    UsageSnapshot,
)
from recorder.core.handlers import approvals, lineage, sessions, turns
from recorder.core.records import ChildRef, Loop, Session, Turn

# The kind of a notice that a reader of a foreign format adds: the line breaks a rule of that format.
IRREGULAR = "irregular"


def reject_input(context: EventContext, event: InputRejected, loop: Loop) -> Turn | None:
    """Note a rejected input: whatever follows, the loop ends as rejected."""
    loop.foreseen = "rejected"
    loop.error = clean(event.reason, 2_000)
    return turns.open_turn(context, loop)


def apply(context: EventContext, event: Annotation, session: Session, loop: Loop | None) -> None:
    """Apply an event to its session and loop; `loop` may have ended, then only its approvals change."""
    running = loop if loop is not None and loop.status == "running" else None
    match event:
        case AgentSwitched():
            if running is not None:
                running.agent_label = clean(event.to, 512)
        case ApprovalRequested():
            approvals.request(context, event, session, loop)
        case ApprovalResolved():
            approvals.resolve(context, event, session, loop)
        case ErrorRaised():
            _apply_error(context, event, running)
        case SessionInfo():
            sessions.apply_info(session, event)
            sessions.set_tags(context, session, event.tags)
            lineage.set_spawn_from_import(context, session, event.parent_spawn_ref)
        case UsageSnapshot():
            if running is not None and event.context_length is not None:
                running.context_tokens = event.context_length
        case Notice():
            _add_notice(context, event, session, loop)


def link(context: EventContext, event: SubAgentLinked) -> Placement:
    """Link a session, or a loop of it, as the sub-agent of a tool call."""
    state = context.state
    parent = state.latest.get(event.parent_loop_id or "")
    child_session = state.sessions.get(event.child_session_id)
    if parent is not None:
        ref = _child_ref(context, event, parent)
        lineage.add_child_ref(context, ref)
        if ref.child is None and ref.child_loop_id:
            lineage.link_waiting(context, ref)
        context.touch(parent)
        context.touch(parent.session)
        return turns.placement(context, parent)
    if child_session is not None:
        lineage.set_spawn_from_link(context, child_session, event)
        return Placement(child_session)
    context.anomaly("orphan", "A sub-agent was linked to an unknown loop.", None)
    return NO_PLACEMENT


def _apply_error(context: EventContext, event: ErrorRaised, loop: Loop | None) -> None:
    if loop is None or event.recovered:
        return
    loop.error = clean(event.message, 2_000)
    turn = turns.open_turn(context, loop)
    if event.scope == "turn" and turn is not None and not turn.error:
        turn.error = loop.error
        loop.errors += 1
        loop.session.errors += 1
        context.touch(turn)


def _add_notice(context: EventContext, event: Notice, session: Session, loop: Loop | None) -> None:
    if event.kind == IRREGULAR:
        context.anomaly(clean(event.code or IRREGULAR, 24), event.text or "", session, loop)


def _child_ref(context: EventContext, event: SubAgentLinked, parent: Loop) -> ChildRef:
    return ChildRef(
        loop=parent,
        tool_call_id=event.tool_call_id or "",
        tool_name=clean(event.tool_name or "", 512),
        child_loop_id=event.child_loop_id or "",
        child_session_id=event.child_session_id,
        certainty=event.certainty,
        event=context.id,
    )
