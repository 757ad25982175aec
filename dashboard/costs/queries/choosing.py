"""What choosing cost where no judge loop was recorded: usage that a group reports, that nobody can price."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet, Sum

from dashboard.costs.asked import Asked, Period
from dashboard.costs.figures import Piece
from dashboard.costs.queries.spending import Stamp, stamp
from dashboard.costs.sums import Sum as Spent
from recorder.models import ParallelGroupRecord

TOKENS = ("uncached_tokens", "cache_read_tokens", "cache_write_tokens", "visible_tokens", "reasoning_tokens")


def pieces(project: int, asked: Asked, period: Period) -> list[Piece]:
    """Return the usage of each bar. One query, or none: it is no agent's and no model's, and a judge's."""
    if asked.agent or asked.model or not asked.judge:
        return []
    groups = ParallelGroupRecord.objects.filter(
        Q(unpriced__gt=0) | Q(cost_nano__isnull=False),
        session__project=project,
        judge=None,
        ended_at__gte=period.before.start,
        ended_at__lt=period.end,
    )
    bars = {stamp(start, hourly=period.is_hourly): n for n, start in enumerate(period.starts)}
    stamped: QuerySet[Any, Any] = groups.annotate(at=Stamp("ended_at", hourly=period.is_hourly)).values("at")
    sums: dict[str, Any] = {
        "nano": Sum("cost_nano"),
        "unpriced_": Sum("unpriced"),
        "unreconciled_": Sum("unreconciled"),
        **{f"{name}_": Sum(name, filter=Q(unreconciled=0), default=0) for name in TOKENS},
    }
    return [
        Piece(
            bars.get(row["at"]),
            "judge",
            Spent(
                **{name: row[f"{name}_"] for name in TOKENS},
                cost_nano=row["nano"],
                unpriced=row["unpriced_"],
                unreconciled=row["unreconciled_"],
            ),
        )
        for row in stamped.annotate(**sums)
    ]
