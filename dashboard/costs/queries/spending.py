"""What was spent, from the sums that are kept by hour, config, agent and kind of loop."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import CharField, F, Func, Q, QuerySet, Sum

from dashboard.costs.asked import Asked, Period
from dashboard.costs.figures import Piece
from dashboard.costs.sums import Sum as Spent
from recorder.models import Spending

COUNTS = (
    *("loops", "failed", "turns", "unpriced", "unreconciled", "priced"),
    *("uncached_tokens", "cache_read_tokens", "cache_write_tokens", "visible_tokens", "reasoning_tokens"),
    "cost_nano",
)


class Stamp(Func):
    """The first characters of a moment in UTC: ten are its day, thirteen its hour."""

    output_field = CharField()
    template = "substr(%(expressions)s, 1, %(length)s)"

    def __init__(self, moment: str, *, hourly: bool) -> None:
        super().__init__(F(moment), length=13 if hourly else 10)

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "substr(to_char(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24'), 1, %(length)s)"
        return self.as_sql(compiler, connection, template=template, **context)


def pieces(project: int, asked: Asked, period: Period) -> list[Piece]:
    """Return what was spent in the period and in the one before. One query."""
    spending = Spending.objects.filter(
        asked_for(asked), project=project, hour__gte=period.before.start, hour__lt=period.end
    )
    agent = ("agent_id",) if asked.by == "agent" else ()
    grouped = summed(
        spending.annotate(at=Stamp("hour", hourly=period.is_hourly)), "at", "config", "segment", *agent
    )
    bars = {stamp(start, hourly=period.is_hourly): n for n, start in enumerate(period.starts)}
    return [
        Piece(bars.get(row["at"]), row["segment"], spent(row), row["config"], row.get("agent_id", ""))
        for row in grouped
    ]


def asked_for(asked: Asked) -> Q:
    """Return the conditions that the filters stand for, on columns of a rollup."""
    where = Q()
    if asked.agent:
        where &= Q(agent_id=asked.agent)
    if asked.model:
        where &= Q(config__model=asked.model)
    return where & without(asked)


def without(asked: Asked, at: str = "") -> Q:
    """Return the condition that leaves out what the reader switched off; the segment stands at `at`."""
    left_out = [name for name, counts in (("sub_agents", asked.sub), ("judge", asked.judge)) if not counts]
    return ~Q(**{f"{at}segment__in": left_out}) if left_out else Q()


def summed(rows: QuerySet[Spending], *by: str) -> list[dict[str, Any]]:
    """Return the sums of rows, grouped."""
    sums = {f"{name}_": Sum(name) for name in COUNTS}
    return list(rows.values(*by).annotate(**sums))


def spent(row: dict[str, Any]) -> Spent:
    """Return a row of sums; without a priced call there is no cost, not even 0."""
    sums = {name: row[f"{name}_"] for name in COUNTS}
    priced = sums.pop("priced")
    nano = sums.pop("cost_nano")
    return Spent(**sums, cost_nano=nano if priced else None)


def stamp(start: datetime, *, hourly: bool) -> str:
    """Return what `Stamp` makes of a moment."""
    return f"{start:%Y-%m-%d %H}" if hourly else f"{start:%Y-%m-%d}"
