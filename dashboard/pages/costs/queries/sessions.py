"""What the dearest sessions spent in each bar: from their own turns, as the sums by hour know no session."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db.models import Count, F, Q, QuerySet, Sum

from dashboard.pages.costs.figures import Piece
from dashboard.pages.costs.params import Params, Period
from dashboard.pages.costs.queries.spending import stamp, without
from dashboard.pages.costs.totals import Sum as Spent
from recorder.models import LoopRecord, Session, Turn

TOKENS = ("uncached_tokens", "cache_read_tokens", "cache_write_tokens", "visible_tokens", "reasoning_tokens")
FLAWS = ("unpriced", "unreconciled")


def dearest(project: int, period: Period, count: int) -> list[int]:
    """Return the sessions that cost most, of those that did anything in the period. One query."""
    active = Session.objects.filter(project=project, last_event_at__gte=period.start)
    order = F("cost_nano").desc(nulls_last=True), "-pk"
    return list(active.order_by(*order).values_list("pk", flat=True)[:count])


def pieces(sessions: Collection[int], asked: Params, period: Period) -> list[Piece]:
    """Return what sessions spent in the period. Two queries."""
    within = {"ended_at__gte": period.start, "ended_at__lt": period.end}
    turns = Turn.objects.filter(_asked(asked, "loop__"), loop__session__in=sessions, state="done", **within)
    loops = LoopRecord.objects.filter(_asked(asked), session__in=sessions, **within)
    ended = loops.exclude(status__in=("pending", "running"))
    failed = Count("pk", filter=Q(outcome="failed"))
    return [
        *_grouped(turns, period, "loop__", Q(state="done"), turns=Count("pk")),
        *_grouped(ended, period, "", Q(is_one_call=True), loops=Count("pk"), failed=failed),
    ]


def _asked(asked: Params, at: str = "") -> Q:
    where = Q()
    if asked.agent:
        where &= Q(**{f"{at}agent_id": asked.agent})
    if asked.model:
        where &= Q(config__model=asked.model)
    return where & without(asked, at)


def _grouped(rows: QuerySet[Any], period: Period, at: str, call: Q, **counts: Any) -> list[Piece]:
    """Return sums by bar, session and segment, which stand at `at`; `call` says which rows are calls."""
    grouped = (
        rows.annotate(stamp=stamp("ended_at", period))
        .values("stamp", of=F(f"{at}session"), as_=F(f"{at}segment"))
        .annotate(
            nano=Sum("cost_nano", filter=call),
            **{f"{name}_": Sum(name, filter=call & Q(unreconciled=0), default=0) for name in TOKENS},
            **{f"{name}_": Sum(name, filter=call, default=0) for name in FLAWS},
            **{f"{name}_": each for name, each in counts.items()},
        )
    )
    bars = period.places()
    names = (*TOKENS, *FLAWS, *counts)
    return [
        Piece(
            Spent(**{name: row[f"{name}_"] for name in names}, cost_nano=row["nano"]),
            bars[row["stamp"]],
            row["as_"],
            session=row["of"],
        )
        for row in grouped
    ]
