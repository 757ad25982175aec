"""Questions to a person, each as it stands now: open, or settled and how."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from dashboard.pages.session.conversation.items import Question
from dashboard.pages.session.conversation.lines_query import Line
from dashboard.rendering import approvals
from recorder.models import Approval


def questions(pks: Collection[int]) -> Mapping[int, Question]:
    """Return questions. One query."""
    return {each.pk: _question(each) for each in Approval.objects.filter(pk__in=pks)}


def asked_in(read: Collection[Line]) -> Mapping[int, Question]:
    """Return the questions that these lines ask, by line. One query, none where nothing is asked."""
    asked = {line.body.id: line.loop for line in read if line.body.type == "ApprovalRequested"}
    if not asked:
        return {}
    found = Approval.objects.filter(loop__in=set(asked.values()), request_event__in=asked)
    return {each.request_event or 0: _question(each) for each in found}


def open_of(loops: Collection[int]) -> Mapping[tuple[int, str], datetime]:
    """Return since when tool calls wait for a person, by loop and call. One query."""
    found = Approval.objects.filter(loop__in=loops, resolved_at=None).order_by("-pk")
    columns = found.values_list("loop_id", "tool_call_id", "requested_at")
    return {(loop or 0, call): since for loop, call, since in columns if call}


def _question(asked: Approval) -> Question:
    return Question(
        pk=asked.pk,
        decision="waiting" if asked.resolved_at is None else asked.decision,
        since=asked.requested_at,
        tool_call_id=asked.tool_call_id,
        command=asked.command[: approvals.COMMAND_MAX],
        instead="" if asked.command else approvals.fallback_text(asked.kind),
        risk=asked.risk,
        warnings=approvals.as_lines(asked.warnings),
        options=approvals.as_lines(asked.options),
        scope=asked.decision_scope,
        reason=asked.reason,
        is_inferred=asked.inferred,
    )
