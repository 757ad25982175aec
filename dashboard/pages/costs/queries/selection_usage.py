"""Usage of selection without a recorded judge loop, as groups report it. It has no model and so no price."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, Sum

from dashboard.pages.costs.figures import UsageRow
from dashboard.pages.costs.params import Params, Period
from dashboard.pages.costs.totals import UsageTotals
from recorder.models import ParallelGroupRecord, happened

TOKENS = ("uncached_tokens", "cache_read_tokens", "cache_write_tokens", "visible_tokens", "reasoning_tokens")


def usage_rows(project: int, params: Params, period: Period) -> list[UsageRow]:
    """Return that usage in the segment "judge".

    One query; none when filtered by agent or model, as it has neither.
    """
    if params.agent or params.model or not params.judge:
        return []
    groups = ParallelGroupRecord.objects.alias(at=happened("ended")).filter(
        session__project=project, judge=None, unpriced__gt=0, at__gte=period.start, at__lt=period.end
    )
    sums: dict[str, Any] = {
        "unpriced_": Sum("unpriced", default=0),
        "unreconciled_": Sum("unreconciled", default=0),
        **{f"{name}_": Sum(name, filter=Q(unreconciled=0), default=0) for name in TOKENS},
    }
    found = groups.aggregate(**sums)
    if not found["unpriced_"]:
        return []
    return [
        UsageRow(
            UsageTotals(**{name.removesuffix("_"): count for name, count in found.items()}), segment="judge"
        )
    ]
