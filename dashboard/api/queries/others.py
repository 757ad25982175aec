"""Compactions, approvals and refused lines, as items of the read API."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import cast

from dashboard.api import schemas
from dashboard.api.asked import ById, OfApprovals, OfSession
from dashboard.api.queries.pages import by_id
from recorder.core.changes import Json
from recorder.core.formats.native import NO_LIMITS, read_object
from recorder.lines import texts
from recorder.models import Approval, Compaction, Project, QuarantinedLine, Turn


def compactions(project: Project, asked: OfSession) -> schemas.Compactions:
    """Return a page of compactions."""
    rows = Compaction.objects.filter(loop__session__project=project)
    if asked.session_id is not None:
        rows = rows.filter(loop__session__session_id=asked.session_id)
    page = by_id(rows.select_related("loop__session", "turn").defer("block"), asked)
    sent = _sent(page.rows)
    items = [_compaction(row, sent.get(row.pk)) for row in page.rows]
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


def _compaction(row: Compaction, sent_messages: int | None) -> schemas.CompactionItem:
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
        content=cast("schemas.Content", row.content),
        summary=row.summary or None,
        loops_compacted=row.loops_compacted,
        started_at=row.started_at,
        ended_at=row.ended_at,
    )


def _sent(rows: Sequence[Compaction]) -> Mapping[int, int]:
    """Return how many messages the first request after each compaction held."""
    requests: dict[int, list[int]] = defaultdict(list)
    turns = Turn.objects.filter(loop__in={row.loop_id for row in rows}, request_event__isnull=False)
    for loop, event in turns.order_by("request_event").values_list("loop_id", "request_event"):
        requests[loop].append(event or 0)
    after: dict[int, int] = {}
    for row in rows:
        events = [event for event in requests[row.loop_id] if row.end_event and event > row.end_event]
        if events:
            after[row.pk] = events[0]
    bodies = texts(set(after.values()))
    sizes = {pk: _messages(read_object(raw, NO_LIMITS)) for pk, raw in bodies.items()}
    return {pk: size for pk, event in after.items() if (size := sizes.get(event)) is not None}


def _messages(event: Json) -> int | None:
    payload = event.get("payload") if isinstance(event, dict) else None
    messages = payload.get("messages") if isinstance(payload, dict) else None
    return len(messages) if isinstance(messages, list) else None


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
