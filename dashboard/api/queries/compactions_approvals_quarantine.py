"""Compactions, approvals and refused lines, as items of the read API."""

from __future__ import annotations

from typing import cast

from dashboard.api import schemas
from dashboard.api.params import ById, OfApprovals, OfSession
from dashboard.api.queries.keyset import by_id
from dashboard.compaction_analysis.queries import bodies, passes
from recorder.models import Approval, Project, QuarantinedLine


def compactions(project: Project, asked: OfSession) -> schemas.Compactions:
    """Return a page of compactions."""
    rows = passes.listed(project.pk)
    if asked.session_id is not None:
        rows = rows.filter(loop__session__session_id=asked.session_id)
    page = by_id(rows.select_related("loop__session__project", "turn").defer("block"), asked)
    found = passes.passes(page.rows)
    sent = bodies.counts(found)
    items = [_compaction(each, sent.get(each.pk)) for each in found]
    return schemas.Compactions(items=items, next=page.next, total=page.total)


def approvals(project: Project, asked: OfApprovals) -> schemas.Approvals:
    """Return a page of questions to people."""
    rows = Approval.objects.filter(session__project=project)
    if asked.session_id is not None:
        rows = rows.filter(session__session_id=asked.session_id)
    if asked.open:
        rows = rows.filter(resolved_at=None)
    page = by_id(rows.select_related("session"), asked)
    return schemas.Approvals(items=[_approval(row) for row in page.rows], next=page.next, total=page.total)


def quarantine(project: Project, asked: ById) -> schemas.Quarantine:
    """Return a page of refused lines."""
    page = by_id(QuarantinedLine.objects.filter(project=project).select_related("producer"), asked)
    return schemas.Quarantine(items=[_refused(row) for row in page.rows], next=page.next, total=page.total)


def _compaction(found: passes.Pass, sent_messages: int | None) -> schemas.CompactionItem:
    row = found.row
    is_told_by_requests = found.content == "none" and sent_messages is not None and found.has_request_before
    return schemas.CompactionItem(
        id=row.pk,
        session_id=row.loop.session.session_id,
        loop=row.loop_id,
        turn_index=row.turn.turn_index if row.turn else None,
        state=row.state,
        messages_before=row.messages_before,
        messages_after=row.messages_after,
        tokens_before=row.tokens_before,
        tokens_after=row.tokens_after,
        sent_messages=sent_messages,
        sent_tokens=found.sent_after,
        content=cast("schemas.Content", "request" if is_told_by_requests else found.content),
        summary=row.summary or None,
        loops_compacted=row.loops_compacted,
        started_at=row.started_at,
        ended_at=row.ended_at,
    )


def _approval(row: Approval) -> schemas.ApprovalItem:
    return schemas.ApprovalItem(
        id=row.pk,
        approval_id=row.approval_id or None,
        session_id=row.session.session_id,
        loop=row.loop_id,
        kind=row.kind,
        tool_call_id=row.tool_call_id or None,
        command=row.command or None,
        risk=row.risk or None,
        warnings=row.warnings,
        options=row.options,
        requested_at=row.requested_at,
        resolved_at=row.resolved_at,
        decision=row.decision or None,
        decision_scope=row.decision_scope or None,
        reason=row.reason or None,
        is_inferred=row.inferred,
    )


def _refused(row: QuarantinedLine) -> schemas.QuarantineItem:
    return schemas.QuarantineItem(
        id=row.pk,
        producer=row.producer.name,
        seq=row.seq,
        code=row.code,
        path=row.path or None,
        message=row.message,
        raw=bytes(row.raw).decode(errors="replace"),
        size=row.size,
        received_at=row.received_at,
    )
