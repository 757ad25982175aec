"""The lists of compactions, approval requests and rejected lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from django.db.models import QuerySet

from dashboard.api import schemas
from dashboard.api.params import ById, OfApprovals, OfSession
from dashboard.api.queries.list_endpoint import ListEndpoint, by_id, filtered
from dashboard.compaction_analysis.queries import bodies, passes
from dashboard.query_conditions.conditions import compaction_condition, session_condition
from recorder.models import Approval, Compaction, Project, QuarantinedLine, Session


def _compaction(effect: passes.CompactionEffect, sent_messages: int | None) -> schemas.CompactionItem:
    row = effect.row
    has_requests = effect.content == "none" and sent_messages is not None and effect.has_request_before
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
        sent_tokens=effect.sent_after,
        content=cast("schemas.Content", "request" if has_requests else effect.content),
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


def _quarantine_item(row: QuarantinedLine) -> schemas.QuarantineItem:
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


def _compaction_rows(project: Project, params: OfSession) -> QuerySet[Compaction]:
    listed = passes.listed(project.pk)
    matching = listed.filter(params.condition(compaction_condition, project)) if params.q else listed
    rows = filtered(matching, loop__session__session_id=params.session_id)
    # A block may hold megabytes of messages; items only need its summary.
    return rows.select_related("loop__session__project", "turn").defer("block")


def _compaction_items(
    project: Project, _: OfSession, rows: Sequence[Compaction]
) -> list[schemas.CompactionItem]:
    effects = passes.passes(list(rows))
    sent = bodies.counts(effects)
    return [_compaction(effect, sent.get(effect.pk)) for effect in effects]


def _approval_rows(project: Project, params: OfApprovals) -> QuerySet[Approval]:
    sessions = Session.objects.filter(params.condition(session_condition, project), project=project)
    rows = Approval.objects.filter(session__project=project).select_related("session")
    rows = rows.filter(session__in=sessions) if params.q else rows
    is_unresolved = True if params.open else None
    return filtered(rows, session__session_id=params.session_id, resolved_at__isnull=is_unresolved)


def _approval_items(project: Project, _: OfApprovals, rows: Sequence[Approval]) -> list[schemas.ApprovalItem]:
    return [_approval(row) for row in rows]


def _quarantine_rows(project: Project, _: ById) -> QuerySet[QuarantinedLine]:
    return QuarantinedLine.objects.filter(project=project).select_related("producer")


def _quarantine_items(
    project: Project, _: ById, rows: Sequence[QuarantinedLine]
) -> list[schemas.QuarantineItem]:
    return [_quarantine_item(row) for row in rows]


COMPACTIONS = ListEndpoint(
    response=schemas.Compactions, rows=_compaction_rows, cut=by_id, items=_compaction_items
)
APPROVALS = ListEndpoint(response=schemas.Approvals, rows=_approval_rows, cut=by_id, items=_approval_items)
QUARANTINE = ListEndpoint(
    response=schemas.Quarantine, rows=_quarantine_rows, cut=by_id, items=_quarantine_items
)
