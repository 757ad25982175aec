"""Approval requests of a conversation with their current state."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from dashboard.pages.session.conversation.items import Question
from dashboard.pages.session.conversation.queries.lines import ConversationLine, LineRecord
from dashboard.rendering import approvals
from dashboard.shared.session_state import is_stale
from recorder.models import Approval


def questions(pks: Collection[int]) -> Mapping[int, Question]:
    """Return approval requests by primary key. One query."""
    approval_records = Approval.objects.filter(pk__in=pks).select_related("session")
    return {approval.pk: _question(approval) for approval in approval_records}


def questions_in(read: Collection[ConversationLine | LineRecord]) -> Mapping[int, Question]:
    """Return the approval requests in these lines, by the id of their event.

    One query, none if there are none.
    """
    requests = {line.id: line.loop for line in read if line.type == "ApprovalRequested"}
    if not requests:
        return {}
    approval_records = Approval.objects.filter(loop__in=set(requests.values()), request_event__in=requests)
    approval_records = approval_records.select_related("session")
    return {approval.request_event or 0: _question(approval) for approval in approval_records}


def open_of(loops: Collection[int]) -> Mapping[tuple[int, str], datetime]:
    """Return since when tool calls wait for approval, by loop and tool call id, unless stale. One query."""
    unresolved = (
        Approval.objects.filter(loop__in=loops, resolved_at=None).order_by("-pk").select_related("session")
    )
    return {
        (approval.loop_id or 0, approval.tool_call_id): approval.requested_at
        for approval in unresolved
        if approval.tool_call_id and not is_stale(approval.session)
    }


def _question(approval: Approval) -> Question:
    return Question(
        pk=approval.pk,
        decision="waiting" if approval.resolved_at is None else approval.decision,
        since=approval.requested_at,
        tool_call_id=approval.tool_call_id,
        command=approval.command[: approvals.COMMAND_MAX],
        instead="" if approval.command else approvals.fallback_text(approval.kind),
        risk=approval.risk,
        warnings=approvals.as_lines(approval.warnings),
        options=approvals.as_lines(approval.options),
        scope=approval.decision_scope,
        reason=approval.reason,
        is_inferred=approval.inferred,
        is_stale=approval.resolved_at is None and is_stale(approval.session),
    )
