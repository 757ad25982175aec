"""What was spent, from the sums that are kept by hour and by day, config, agent and kind of loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Func, Q, QuerySet, Sum

from dashboard.pages.costs.figures import Piece
from dashboard.pages.costs.params import Params, Period
from dashboard.pages.costs.totals import Sum as Spent
from dashboard.shared.date_trunc import Day, Hour
from recorder.models import Spending

COUNTS = (
    *("loops", "failed", "turns", "unpriced", "unreconciled", "priced"),
    *("uncached_tokens", "cache_read_tokens", "cache_write_tokens", "visible_tokens", "reasoning_tokens"),
    "cost_nano",
)
_SUMS: dict[str, Any] = {f"{name}_": Sum(name, default=0) for name in COUNTS}


def pieces(project: int, asked: Params, period: Period) -> list[Piece]:
    """Return what was spent in the period. One query."""
    grouped = _within(project, asked, period).values("segment", *_told_apart(asked)).annotate(**_SUMS)
    return [
        Piece(_spent(row), segment=row["segment"], config=row.get("config"), agent=row.get("agent_id", ""))
        for row in grouped
    ]


def bars(project: int, asked: Params, period: Period) -> list[Piece]:
    """Return what it cost, bar by bar. One query: grouping everything by day, too, takes longer than both."""
    stamped = _within(project, asked, period).annotate(at=stamp("start", period))
    grouped = stamped.values("at", *_told_apart(asked)).annotate(nano=Sum("cost_nano"))
    placed = period.places()
    return [
        Piece(
            Spent(cost_nano=row["nano"]),
            placed[row["at"]],
            config=row.get("config"),
            agent=row.get("agent_id", ""),
        )
        for row in grouped
    ]


def whole(project: int, asked: Params, period: Period) -> Spent:
    """Return what was spent in a period altogether. One query."""
    return _spent(_within(project, asked, period).aggregate(**_SUMS))


def stamp(moment: str, period: Period) -> Func:
    """Return the expression that says into which bar a moment falls, as `Period.places` has it."""
    return Hour(moment) if period.is_hourly else Day(moment)


def asked_for(asked: Params) -> Q:
    """Return the conditions that the filters stand for, on columns of a rollup."""
    where = Q()
    if asked.agent:
        where &= Q(agent_id=asked.agent)
    if asked.model:
        where &= Q(config__model=asked.model)
    return where & without(asked)


def without(asked: Params, at: str = "") -> Q:
    """Return the condition that leaves out what the reader switched off; the segment stands at `at`."""
    left_out = [name for name, counts in (("sub_agents", asked.sub), ("judge", asked.judge)) if not counts]
    return ~Q(**{f"{at}segment__in": left_out}) if left_out else Q()


def _told_apart(asked: Params) -> tuple[str, ...]:
    """Return the columns to group by; models without a price are found by config, whatever is asked."""
    return ("config", "agent_id") if asked.by == "agent" else ("config",)


def _within(project: int, asked: Params, period: Period) -> QuerySet[Spending]:
    span = "hour" if period.is_hourly else "day"
    return Spending.objects.filter(
        asked_for(asked), project=project, span=span, start__gte=period.start, start__lt=period.end
    )


def _spent(row: Mapping[str, Any]) -> Spent:
    """Return a row of sums; without a priced call there is no cost, not even 0."""
    sums = {name: row[f"{name}_"] for name in COUNTS}
    priced = sums.pop("priced")
    nano = sums.pop("cost_nano")
    return Spent(**sums, cost_nano=nano if priced else None)
