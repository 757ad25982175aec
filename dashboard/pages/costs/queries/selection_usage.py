"""What choosing took where no judge loop was recorded: usage that a group reports, that nobody can price."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, Sum

from dashboard.pages.costs.figures import Piece
from dashboard.pages.costs.params import Params, Period
from dashboard.pages.costs.totals import Sum as Spent
from recorder.models import ParallelGroupRecord

TOKENS = ("uncached_tokens", "cache_read_tokens", "cache_write_tokens", "visible_tokens", "reasoning_tokens")


def pieces(project: int, asked: Params, period: Period) -> list[Piece]:
    """Return it as spent on judging. One query, or none: it is no agent's and no model's."""
    if asked.agent or asked.model or not asked.judge:
        return []
    groups = ParallelGroupRecord.objects.filter(
        session__project=project,
        judge=None,
        unpriced__gt=0,
        ended_at__gte=period.start,
        ended_at__lt=period.end,
    )
    sums: dict[str, Any] = {
        "unpriced_": Sum("unpriced", default=0),
        "unreconciled_": Sum("unreconciled", default=0),
        **{f"{name}_": Sum(name, filter=Q(unreconciled=0), default=0) for name in TOKENS},
    }
    found = groups.aggregate(**sums)
    if not found["unpriced_"]:
        return []
    return [Piece(Spent(**{name.removesuffix("_"): count for name, count in found.items()}), segment="judge")]
