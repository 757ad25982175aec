"""All compactions of a list for a download."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from dashboard.pages.compactions.params import NEWEST, Filters
from dashboard.pages.compactions.queries.list import CompactionRow, matching, rows
from dashboard.web.lists.download import Value, chunked, dollars
from recorder.models import Project

HEADER = (
    *("id", "session_id", "session_title", "config", "agent_id", "state", "content"),
    *("messages_before", "messages_after", "tokens_before", "tokens_after", "loops_compacted"),
    *("sent_tokens_before", "sent_tokens_after", "tokens_saved", "calls_after", "net_savings_usd"),
    *("started_at", "ended_at", "url"),
)


def chunks(project: Project, filters: Filters, now: datetime) -> Iterator[Sequence[Sequence[Value]]]:
    """Yield the compactions that match, newest first. Seven queries a chunk."""

    def read(pks: list[int]) -> list[Sequence[Value]]:
        found = rows(project.pk, pks)
        return [_values(found[pk]) for pk in pks if pk in found]

    return chunked(NEWEST.sort(matching(project.pk, filters, now)), read)


def _values(row: CompactionRow) -> Sequence[Value]:
    effect, claim, pay = row.found, row.found.claim, row.found.payback
    record, session = effect.row, effect.row.loop.session
    return (
        *(record.pk, session.session_id, session.title, row.chip.full if row.chip else None),
        *(effect.loop.agent_id, effect.state, effect.content),
        *(claim.messages_before, claim.messages_after, claim.tokens_before, claim.tokens_after),
        *(record.loops_compacted, effect.sent_before, effect.sent_after, pay.saved, pay.calls),
        *(dollars(pay.net_nano), record.started_at, record.ended_at, effect.url),
    )
