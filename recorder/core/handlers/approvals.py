"""Approvals: requests to a person, and their decisions, reported or inferred.

An approval is open until a decision is reported, or until a later event implies one: the tool that waited
starts (granted) or returns without having started (denied), its loop is cut off (cancelled), or its session
continues after its loop had ended (unknown).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime

from recorder.core.content.text import clean
from recorder.core.context import EventContext
from recorder.core.events import ApprovalRequested, ApprovalResolved
from recorder.core.handlers import sessions
from recorder.core.records import Approval, Loop, Session

_WAITING = "Waiting for approval"
_DECISIONS = {
    "granted": "Approved",
    "denied": "Denied",
    "expired": "Approval expired",
    "cancelled": "Withdrawn",
}


def request(context: EventContext, event: ApprovalRequested, session: Session, loop: Loop | None) -> None:
    """Open an approval: the agent waits for a person."""
    approval = Approval(
        session=session,
        loop=loop,
        approval_id=event.approval_id or "",
        kind=event.kind,
        tool_call_id=event.tool_call_id or "",
        command=clean(event.command or ""),
        risk=clean(event.risk or "", 100),
        warnings=event.warnings,
        options=event.options,
        requested_at=event.timestamp or context.received_at,
        request_event=context.id,
    )
    context.add(approval)
    _count(context, session, loop, 1)
    if loop is not None:
        sessions.set_activity(loop, f"{_WAITING} {approval.command}".rstrip())


def resolve(context: EventContext, event: ApprovalResolved, session: Session, loop: Loop | None) -> None:
    """Close an approval with the decision that the runtime reports."""
    approval = _find(context, event, session, loop)
    if approval is None:
        context.anomaly(
            "unknown_approval", "An approval was resolved that was never requested.", session, loop
        )
        return
    approval.decision_scope = event.scope or ""
    approval.reason = clean(event.reason or "")
    approval.resolved_at = event.timestamp or context.received_at
    _close(context, approval, event.decision or "", inferred=event.inferred)
    _update_activity(context, approval)


def grant_by_tool_start(context: EventContext, loop: Loop, tool_call_id: str, at: datetime | None) -> None:
    """Infer from the start of a tool that its approval was granted."""
    _close_of_tool(context, loop, tool_call_id, "granted", at)


def deny_by_tool_end(context: EventContext, loop: Loop, tool_call_id: str, at: datetime | None) -> None:
    """Infer from a tool that returned without a start that its approval was denied."""
    _close_of_tool(context, loop, tool_call_id, "denied", at)


def cancel_of_loop(context: EventContext, loop: Loop) -> None:
    """Cancel the open approvals of a loop that was cut off."""
    _close_all(context, loop.session, lambda a: a.loop is loop, "cancelled")


def reopen(context: EventContext, loop: Loop, tool_call_ids: Collection[str]) -> None:
    """Open the approvals again that were cancelled with their loop, which goes on and still waits."""
    cut_parts = context.state.cut_parts.get(loop, {})
    for cut in list(cut_parts):
        if isinstance(cut, Approval) and cut.tool_call_id in tool_call_ids and cut.decision == "cancelled":
            del cut_parts[cut]
            cut.resolved_at, cut.decision, cut.inferred, cut.resolve_event = None, "", False, None
            context.add(cut)
            _count(context, cut.session, loop, 1)


def settle_of_ended_loops(context: EventContext, session: Session) -> None:
    """Close the approvals of ended loops of a session that continues; their decision is unknown."""
    _close_all(context, session, lambda a: a.loop is None or a.loop.status != "running", "")


def _close_of_tool(
    context: EventContext, loop: Loop, tool_call_id: str, decision: str, at: datetime | None
) -> None:
    approval = context.state.approvals_by_tool.get((loop, tool_call_id))
    if approval is not None:
        approval.resolved_at = at or context.received_at
        _close(context, approval, decision, inferred=True)
        _update_activity(context, approval)


def _close_all(
    context: EventContext, session: Session, matches: Callable[[Approval], bool], decision: str
) -> None:
    for approval in [a for a in context.state.open_approvals.get(session, ()) if matches(a)]:
        approval.resolved_at = context.received_at
        _close(context, approval, decision, inferred=True)
        context.state.add(approval)


def _close(context: EventContext, approval: Approval, decision: str, *, inferred: bool) -> None:
    approval.decision, approval.inferred, approval.resolve_event = decision, inferred, context.id
    context.state.open_approvals[approval.session].remove(approval)
    if approval.loop is not None:
        context.state.approvals_by_tool.pop((approval.loop, approval.tool_call_id), None)
    _count(context, approval.session, approval.loop, -1)
    context.touch(approval)


def _count(context: EventContext, session: Session, loop: Loop | None, change: int) -> None:
    session.waiting += change
    waiting = context.state.open_approvals.get(session, [])
    session.waiting_since = waiting[0].requested_at if waiting else None
    context.touch(session)
    if loop is not None:
        loop.waiting += change
        context.touch(loop)


def _update_activity(context: EventContext, closed: Approval) -> None:
    """Replace the activity "waiting" of a running loop, unless it has another open approval."""
    loop = closed.loop
    if loop is None or loop.status != "running":
        return
    others = [other for other in context.state.open_approvals.get(closed.session, ()) if other.loop is loop]
    words = _WAITING if others else _DECISIONS.get(closed.decision, "Answered")
    sessions.set_activity(loop, f"{words} {(others or [closed])[-1].command}".rstrip())


def _find(
    context: EventContext, event: ApprovalResolved, session: Session, loop: Loop | None
) -> Approval | None:
    waiting = context.state.open_approvals.get(session, [])
    if event.approval_id:
        return next((a for a in waiting if a.approval_id == event.approval_id), None)
    if event.tool_call_id:
        return next((a for a in waiting if a.tool_call_id == event.tool_call_id and a.loop is loop), None)
    if event.command is not None:
        command = clean(event.command)
        return next((a for a in waiting if a.command == command and (loop is None or a.loop is loop)), None)
    return next((a for a in waiting if loop is None or a.loop is loop), None)
