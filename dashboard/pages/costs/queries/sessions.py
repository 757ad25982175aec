"""Usage of the most expensive sessions by bar, read from turns: the rollups have no session column."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db.models import Count, F, Q, QuerySet, Sum

from dashboard.pages.costs.figures import UsageRow
from dashboard.pages.costs.params import Params, Period
from dashboard.pages.costs.queries.spending import excluded_segments, stamp
from dashboard.pages.costs.totals import UsageTotals
from recorder.models import LoopRecord, Session, Turn, happened

TOKENS = ("uncached_tokens", "cache_read_tokens", "cache_write_tokens", "visible_tokens", "reasoning_tokens")
FLAWS = ("unpriced", "unreconciled")


def most_expensive(project: int, period: Period, count: int) -> list[int]:
    """Return the `count` most expensive sessions that were active in the period. One query."""
    active = Session.objects.filter(
        project=project, last_event_at__gte=period.start, created_at__lt=period.end
    )
    order = F("cost_nano").desc(nulls_last=True), "-pk"
    return list(active.order_by(*order).values_list("pk", flat=True)[:count])


def usage_rows(sessions: Collection[int], params: Params, period: Period) -> list[UsageRow]:
    """Return the usage of sessions in the period. Two queries."""
    within = {"at__gte": period.start, "at__lt": period.end}
    turns = Turn.objects.alias(at=happened("ended")).filter(
        _conditions(params, "loop__"), loop__session__in=sessions, state="done", **within
    )
    loops = LoopRecord.objects.alias(at=happened("ended")).filter(
        _conditions(params), session__in=sessions, **within
    )
    ended = loops.exclude(status__in=("pending", "running"))
    failed = Count("pk", filter=Q(outcome="failed"))
    return [
        *_grouped(turns, period, "loop__", Q(state="done"), turns=Count("pk")),
        *_grouped(ended, period, "", Q(is_one_call=True), loops=Count("pk"), failed=failed),
    ]


def _conditions(params: Params, prefix: str = "") -> Q:
    where = Q()
    if params.agent and prefix:
        where &= Q(agent_id__in=params.agent) | Q(agent_id="", loop__agent_id__in=params.agent)
    elif params.agent:
        where &= Q(agent_id__in=params.agent)
    if params.model:
        where &= Q(config__model__in=params.model)
    return where & excluded_segments(params, prefix)


def _grouped(rows: QuerySet[Any], period: Period, prefix: str, call: Q, **counts: Any) -> list[UsageRow]:
    """Return totals by bar, session and segment; `prefix` leads to the loop, `call` selects model calls."""
    grouped = (
        rows.annotate(stamp=stamp("at", period))
        .values("stamp", of=F(f"{prefix}session"), as_=F(f"{prefix}segment"))
        .annotate(
            nano=Sum("cost_nano", filter=call),
            **{f"{name}_": Sum(name, filter=call & Q(unreconciled=0), default=0) for name in TOKENS},
            **{f"{name}_": Sum(name, filter=call, default=0) for name in FLAWS},
            **{f"{name}_": count for name, count in counts.items()},
        )
    )
    bars = period.bar_indexes()
    names = (*TOKENS, *FLAWS, *counts)
    return [
        UsageRow(
            UsageTotals(**{name: row[f"{name}_"] for name in names}, cost_nano=row["nano"]),
            bars[row["stamp"]],
            row["as_"],
            session=row["of"],
        )
        for row in grouped
    ]
