"""Questions to a person, and how they were settled, said or inferred."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from recorder.core.content.text import clean
from recorder.core.context import EventContext
from recorder.core.events import ApprovalRequested, ApprovalResolved
from recorder.core.handlers import sessions
from recorder.core.records import Approval, Loop, Session

_WAITING = "Waiting for approval"
_SETTLED = {"granted": "Approved", "denied": "Denied", "expired": "Nobody approved", "cancelled": "Withdrawn"}


def request(context: EventContext, event: ApprovalRequested, session: Session, loop: Loop | None) -> None:
    """The agent waits for a person."""
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
    """A person answered, or nobody did."""
    approval = _find(context, event, session, loop)
    if approval is None:
        context.anomaly(
            "unknown_approval", "An approval was settled that nobody had asked for.", session, loop
        )
        return
    approval.decision_scope = event.scope or ""
    approval.reason = clean(event.reason or "")
    approval.resolved_at = event.timestamp or context.received_at
    _settle(context, approval, event.decision or "", inferred=event.inferred)
    _update_activity(context, approval)


def grant_by_tool_start(context: EventContext, loop: Loop, tool_call_id: str, at: datetime | None) -> None:
    """A tool that waited runs: somebody must have granted it."""
    _settle_of_tool(context, loop, tool_call_id, "granted", at)


def deny_by_tool_end(context: EventContext, loop: Loop, tool_call_id: str, at: datetime | None) -> None:
    """A tool that waited returned without running: it was denied."""
    _settle_of_tool(context, loop, tool_call_id, "denied", at)


def cancel_of_loop(context: EventContext, loop: Loop) -> None:
    """A loop that waited will never hear the answer."""
    _settle_all(context, loop.session, lambda a: a.loop is loop, "cancelled")


def settle_of_ended_loops(context: EventContext, session: Session) -> None:
    """A session that waited after its loop had ended goes on: the question is settled, we do not know how."""
    _settle_all(context, session, lambda a: a.loop is None or a.loop.status != "running", "")


def _settle_of_tool(
    context: EventContext, loop: Loop, tool_call_id: str, decision: str, at: datetime | None
) -> None:
    approval = context.state.approvals_by_tool.get((loop, tool_call_id))
    if approval is not None:
        approval.resolved_at = at or context.received_at
        _settle(context, approval, decision, inferred=True)
        _update_activity(context, approval)


def _settle_all(
    context: EventContext, session: Session, which: Callable[[Approval], bool], decision: str
) -> None:
    for approval in [a for a in context.state.open_approvals.get(session, ()) if which(a)]:
        approval.resolved_at = context.received_at
        _settle(context, approval, decision, inferred=True)


def _settle(context: EventContext, approval: Approval, decision: str, *, inferred: bool) -> None:
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


def _update_activity(context: EventContext, settled: Approval) -> None:
    """A loop that runs on no longer says that it waits, unless for something else."""
    loop = settled.loop
    if loop is None or loop.status != "running":
        return
    others = [each for each in context.state.open_approvals.get(settled.session, ()) if each.loop is loop]
    words = _WAITING if others else _SETTLED.get(settled.decision, "Answered")
    sessions.set_activity(loop, f"{words} {(others or [settled])[-1].command}".rstrip())


def _find(
    context: EventContext, event: ApprovalResolved, session: Session, loop: Loop | None
) -> Approval | None:
    waiting = context.state.open_approvals.get(session, [])
    if event.approval_id:
        return next((a for a in waiting if a.approval_id == event.approval_id), None)
    if event.tool_call_id:
        return next((a for a in waiting if a.tool_call_id == event.tool_call_id and a.loop is loop), None)
    if event.command is not None:
        wanted = clean(event.command)
        return next((a for a in waiting if a.command == wanted and (loop is None or a.loop is loop)), None)
    return next((a for a in waiting if loop is None or a.loop is loop), None)
