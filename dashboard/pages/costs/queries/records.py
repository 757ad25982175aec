"""Usage of a period from turns and loops, for what the rollups do not have: sessions, and most queries."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from django.db.models import F

from dashboard.pages.costs.figures import UsageRow
from dashboard.pages.costs.totals import UsageTotals, total
from dashboard.shared.queries import durations
from dashboard.shared.spending import queries
from dashboard.shared.time_functions import Day, Hour

if TYPE_CHECKING:
    from dashboard.pages.costs.params import Period
    from dashboard.shared.spending.scope import Scope

COUNTS = ("loops", "failed", "turns", *queries.FLAWS, *queries.TOKENS)


def usage_rows(project: int, scope: Scope, period: Period, keys: Collection[str]) -> list[UsageRow]:
    """Return the usage of a scope by bar and keys. Two queries."""
    return _rows(queries.sums(project, scope, span(period), keys, _stamp(period)), period)


def whole(project: int, scope: Scope, period: Period) -> UsageTotals:
    """Return the totals of a scope in a period. Two queries."""
    return total(map(_totals, queries.sums(project, scope, span(period))))


def most_expensive(project: int, scope: Scope, period: Period, count: int) -> list[int]:
    """Return the `count` most expensive sessions of a scope that were active in the period. One query."""
    active = queries.active(project, scope, span(period)).filter(scope.having, created_at__lt=period.end)
    order = F("cost_nano").desc(nulls_last=True), "-pk"
    return list(active.order_by(*order).values_list("pk", flat=True)[:count])


def of_sessions(project: int, scope: Scope, period: Period, sessions: Collection[int]) -> list[UsageRow]:
    """Return the usage of some sessions of a scope, each by bar and segment. Two queries."""
    sum_rows = queries.sums(project, scope, span(period), ("segment", "session"), _stamp(period), sessions)
    return _rows(sum_rows, period)


def of_selection(project: int, scope: Scope, period: Period) -> list[UsageRow]:
    """Return the usage of selection without a recorded judge loop, in the segment "judge". One query."""
    sums = queries.of_selection(project, scope, span(period))
    return [UsageRow(UsageTotals(**sums), segment="judge")] if sums["unpriced"] else []


def span(period: Period) -> durations.Period:
    """Return the start and the end of a period."""
    return durations.Period(period.start, period.end)


def _stamp(period: Period) -> type[Day]:
    return Hour if period.is_hourly else Day


def _rows(sum_rows: Collection[Mapping[str, Any]], period: Period) -> list[UsageRow]:
    bars = period.bar_indexes()
    return [
        UsageRow(
            _totals(row),
            bars[row["at"]],
            row["segment"],
            row.get("config"),
            row.get("agent", ""),
            row.get("session", 0),
        )
        for row in sum_rows
    ]


def _totals(row: Mapping[str, Any]) -> UsageTotals:
    """Return the totals of a row; the cost is None, not 0, when no call has a price."""
    counts = {name: row[name] for name in COUNTS}
    return UsageTotals(**counts, cost_nano=row["cost_nano"] if row["priced"] else None)
