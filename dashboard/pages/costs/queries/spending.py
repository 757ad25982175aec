"""Usage of a period from the rollups (`Spending`): sums by hour or day, config, agent and segment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Func, Q, QuerySet, Sum

from dashboard.pages.costs.figures import UsageRow
from dashboard.pages.costs.params import Params, Period
from dashboard.pages.costs.totals import UsageTotals
from dashboard.shared.date_trunc import Day, Hour
from recorder.models import Spending

COUNTS = (
    *("loops", "failed", "turns", "unpriced", "unreconciled", "priced"),
    *("uncached_tokens", "cache_read_tokens", "cache_write_tokens", "visible_tokens", "reasoning_tokens"),
    "cost_nano",
)
_SUMS: dict[str, Any] = {f"{name}_": Sum(name, default=0) for name in COUNTS}


def usage_rows(project: int, params: Params, period: Period) -> list[UsageRow]:
    """Return the usage of the period. One query."""
    grouped = _within(project, params, period).values("segment", *_group_columns(params)).annotate(**_SUMS)
    return [
        UsageRow(
            _totals(row), segment=row["segment"], config=row.get("config"), agent=row.get("agent_id", "")
        )
        for row in grouped
    ]


def bars(project: int, params: Params, period: Period) -> list[UsageRow]:
    """Return the cost by bar.

    One query: adding the bar to the grouping of `usage_rows` is slower than two queries.
    """
    stamped = _within(project, params, period).annotate(at=stamp("start", period))
    grouped = stamped.values("at", *_group_columns(params)).annotate(nano=Sum("cost_nano"))
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


def whole(project: int, params: Params, period: Period) -> UsageTotals:
    """Return the totals of a period. One query."""
    return _totals(_within(project, params, period).aggregate(**_SUMS))


def stamp(column: str, period: Period) -> Func:
    """Return the SQL expression of the hour or day of a column, in the format of `Period.bar_indexes`."""
    return Hour(column) if period.is_hourly else Day(column)


def filter_conditions(params: Params) -> Q:
    """Return the filter conditions on the columns of a rollup."""
    where = Q()
    if params.agent:
        where &= Q(agent_id__in=params.agent)
    if params.model:
        where &= Q(config__model__in=params.model)
    return where & excluded_segments(params)


def excluded(params: Params) -> list[str]:
    """Return the segments that are switched off."""
    switches = (("sub_agents", params.sub), ("judge", params.judge))
    return [name for name, is_included in switches if not is_included]


def excluded_segments(params: Params, prefix: str = "") -> Q:
    """Return the condition that excludes switched-off segments; `prefix` leads to the segment column."""
    names = excluded(params)
    return ~Q(**{f"{prefix}segment__in": names}) if names else Q()


def _group_columns(params: Params) -> tuple[str, ...]:
    """Return the columns to group by; always the config, which identifies models without a price."""
    return ("config", "agent_id") if params.by == "agent" else ("config",)


def _within(project: int, params: Params, period: Period) -> QuerySet[Spending]:
    span = "day" if period.has_whole_days and not period.is_hourly else "hour"
    return Spending.objects.filter(
        filter_conditions(params), project=project, span=span, start__gte=period.start, start__lt=period.end
    )


def _totals(row: Mapping[str, Any]) -> UsageTotals:
    """Return the totals of a row; the cost is None, not 0, when no call has a price."""
    sums = {name: row[f"{name}_"] for name in COUNTS}
    priced = sums.pop("priced")
    nano = sums.pop("cost_nano")
    return UsageTotals(**sums, cost_nano=nano if priced else None)
