"""Our own events: of a loop or of a session only, mostly saying something beside the loop's life."""

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

# Of a notice: the line before it breaks a rule of its own format.
IRREGULAR = "irregular"


def reject_input(context: EventContext, event: InputRejected, loop: Loop) -> Turn | None:
    """An input was refused: however far the loop still goes, it ends as rejected."""
    loop.foreseen = "rejected"
    loop.error = clean(event.reason, 2_000)
    return turns.open_turn(context, loop)


def apply(context: EventContext, event: Annotation, session: Session, loop: Loop | None) -> None:
    """Let one of our events change what it is about."""
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
            _error(context, event, running)
        case SessionInfo():
            sessions.apply_info(session, event)
            lineage.set_spawn_from_import(context, session, event.parent_spawn_ref)
        case UsageSnapshot():
            if running is not None and event.context_length is not None:
                running.context_tokens = event.context_length
        case Notice():
            _note(context, event, session, loop)


def link(context: EventContext, event: SubAgentLinked) -> Placement:
    """A loop is the sub-agent of a tool call in another session."""
    state = context.state
    parent = state.latest.get(event.parent_loop_id or "")
    child_session = state.sessions.get(event.child_session_id)
    if parent is not None:
        lineage.add_child_ref(context, _ref(context, event, parent))
        context.touch(parent)
        context.touch(parent.session)
        return turns.placement(context, parent)
    if child_session is not None:
        lineage.set_spawn_from_link(context, child_session, event)
        return Placement(child_session)
    context.anomaly("orphan", "A sub-agent was linked to a loop that is not known.", None)
    return NO_PLACEMENT


def _error(context: EventContext, event: ErrorRaised, loop: Loop | None) -> None:
    if loop is None or event.recovered:
        return
    loop.error = clean(event.message, 2_000)
    turn = turns.open_turn(context, loop)
    if event.scope == "turn" and turn is not None and not turn.error:
        turn.error = loop.error
        loop.errors += 1
        loop.session.errors += 1
        context.touch(turn)


def _note(context: EventContext, event: Notice, session: Session, loop: Loop | None) -> None:
    if event.kind == IRREGULAR:
        context.anomaly(clean(event.code or IRREGULAR, 24), event.text or "", session, loop)


def _ref(context: EventContext, event: SubAgentLinked, parent: Loop) -> ChildRef:
    return ChildRef(
        loop=parent,
        tool_call_id=event.tool_call_id or "",
        tool_name=clean(event.tool_name or "", 512),
        child_loop_id=event.child_loop_id or "",
        child_session_id=event.child_session_id,
        certainty=event.certainty,
        event=context.id,
    )
