"""Usage of a period from the rollups (`Spending`): sums by hour or day, config, agent and segment."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.db.models import Q, QuerySet, Sum

from dashboard.pages.costs.figures import UsageRow
from dashboard.pages.costs.params import Period
from dashboard.pages.costs.totals import UsageTotals
from dashboard.shared.time_functions import Day, Hour
from recorder.models import Spending

COUNTS = (
    *("loops", "failed", "turns", "unpriced", "unreconciled", "priced"),
    *("uncached_tokens", "cache_read_tokens", "cache_write_tokens", "visible_tokens", "reasoning_tokens"),
    "cost_nano",
)
COLUMNS = {"config": "config", "agent": "agent_id", "segment": "segment"}  # of the keys that rows can have
_SUMS: dict[str, Any] = {f"{name}_": Sum(name, default=0) for name in COUNTS}


def usage_rows(project: int, where: Q, period: Period, keys: Collection[str]) -> list[UsageRow]:
    """Return the usage of the period by keys. One query."""
    columns = [COLUMNS[key] for key in keys]
    grouped = _within(project, where, period).values(*columns).annotate(**_SUMS)
    return [
        UsageRow(
            _totals(row), segment=row["segment"], config=row.get("config"), agent=row.get("agent_id", "")
        )
        for row in grouped
    ]


def bars(project: int, where: Q, period: Period, keys: Collection[str]) -> list[UsageRow]:
    """Return the cost by bar and keys, whatever the segment.

    One query: adding the bar to the grouping of `usage_rows` is slower than two queries.
    """
    hour_or_day = Hour("start") if period.is_hourly else Day("start")
    columns = [COLUMNS[key] for key in keys if key != "segment"]
    stamped = _within(project, where, period).annotate(at=hour_or_day)
    grouped = stamped.values("at", *columns).annotate(nano=Sum("cost_nano"))
    indexes = period.bar_indexes()
    return [
        UsageRow(
            UsageTotals(cost_nano=row["nano"]),
            indexes[row["at"]],
            config=row.get("config"),
            agent=row.get("agent_id", ""),
        )
        for row in grouped
    ]


def whole(project: int, where: Q, period: Period) -> UsageTotals:
    """Return the totals of a period. One query."""
    return _totals(_within(project, where, period).aggregate(**_SUMS))


def _within(project: int, where: Q, period: Period) -> QuerySet[Spending]:
    span = "day" if period.has_whole_days and not period.is_hourly else "hour"
    return Spending.objects.filter(
        where, project=project, span=span, start__gte=period.start, start__lt=period.end
    )


def _totals(row: Mapping[str, Any]) -> UsageTotals:
    """Return the totals of a row; the cost is None, not 0, when no call has a price."""
    sums = {name: row[f"{name}_"] for name in COUNTS}
    priced = sums.pop("priced")
    nano = sums.pop("cost_nano")
    return UsageTotals(**sums, cost_nano=nano if priced else None)
