"""Totals above the list, for a time range."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import BigIntegerField, Case, F, Q, QuerySet, Sum, When
from django.db.models import Count as CountRows

from dashboard.live.paged_list import COUNT_MAX, Count, count
from dashboard.pages.sessions.summary import Lines, LoopFigures, LoopTotals, Measured, lines, totals
from dashboard.shared.session_filter import Wanted, matching
from dashboard.shared.usage_bar import kinds
from dashboard.web import query_params
from recorder.models import LoopRecord, Session

SESSIONS_MAX = 2_000  # newest sessions whose loops are read
LOOPS_MAX = 5_000  # with more loops there are no sparklines
SAMPLE = 2_000  # loops that are measured when there are more
MEASURED = ("duration_ms", "errors", "outcome")
USAGE = ("input_tokens", "output_tokens", "reasoning_tokens", "cache_read_tokens", "cache_write_tokens")
# Disjoint buckets in place of raw counts, which include cached input with some providers and not with others.
BUCKETS = {
    "input_tokens": Case(
        When(unreconciled=0, then="uncached_tokens"), default="input_tokens", output_field=BigIntegerField()
    ),
    "output_tokens": Case(
        When(unreconciled=0, then=F("visible_tokens") + F("reasoning_tokens")),
        default="output_tokens",
        output_field=BigIntegerField(),
    ),
}


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Token usage of many sessions: disjoint buckets, or raw counts where these do not reconcile."""

    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def total(self) -> int:
        return sum(kind.count for kind in kinds(self))

    @property
    def from_cache(self) -> float | None:
        """Share of prompt tokens that were read from a cache."""
        read = self.input_tokens + self.cache_read_tokens + self.cache_write_tokens
        return self.cache_read_tokens / read if read else None


@dataclass(frozen=True, slots=True)
class Figures:
    """The tiles. `is_part`: the range has too many sessions, and sums cover only the newest."""

    since: str
    running: int
    waiting: int
    sessions: Count
    usage: TokenUsage
    cost_nano: int | None
    unpriced: int
    loops: LoopTotals
    lines: Lines
    is_part: bool


def figures(project: int, since: str, now: datetime) -> Figures:
    """Return the tiles of one project. Three or four queries."""
    start = query_params.start(since, now)
    sessions = matching(project, Wanted(since=start)).order_by("-last_event_at", "-pk")
    sums = _sums(sessions[:COUNT_MAX])
    newest = sessions[:SESSIONS_MAX]
    loops = _loops(newest) if sums["sessions"] <= SESSIONS_MAX else None
    measured = _sample(newest) if loops is None else [loop.measured for loop in loops]
    return Figures(
        since=since,
        running=sums["running"],
        waiting=sums["waiting"],
        sessions=Count(sums["sessions"]) if sums["sessions"] < COUNT_MAX else count(sessions),
        usage=TokenUsage(**{name: int(sums[name] or 0) for name in USAGE}),
        cost_nano=sums["cost_nano"],
        unpriced=sums["unpriced"] or 0,
        loops=totals(measured),
        lines=Lines() if loops is None else lines(loops, start, now),
        is_part=loops is None,
    )


def _sums(sessions: QuerySet[Session]) -> dict[str, int]:
    return sessions.aggregate(
        sessions=CountRows("pk"),
        running=CountRows("pk", filter=Q(status="running")),
        waiting=CountRows("pk", filter=Q(waiting__gt=0)),
        cost_nano=Sum("cost_nano"),
        unpriced=Sum("unpriced"),
        **{name: Sum(BUCKETS.get(name, name)) for name in USAGE},
    )


def _loops(sessions: QuerySet[Session]) -> list[LoopFigures] | None:
    """Return the loops of sessions; None if there are too many."""
    tokens = F("input_tokens") + F("output_tokens") + F("cache_read_tokens") + F("cache_write_tokens")
    columns = ("session", "started_at", "ended_at", tokens, *MEASURED)
    found = list(_newest(sessions).values_list(*columns)[: LOOPS_MAX + 1])
    if len(found) > LOOPS_MAX:
        return None
    return [
        LoopFigures(session, started_at, ended_at, tokens, _measured(*rest))
        for session, started_at, ended_at, tokens, *rest in found
    ]


def _sample(sessions: QuerySet[Session]) -> list[Measured]:
    return [_measured(*row) for row in _newest(sessions).values_list(*MEASURED)[:SAMPLE]]


def _newest(sessions: QuerySet[Session]) -> QuerySet[LoopRecord]:
    loops = LoopRecord.objects.filter(session__in=sessions.values("pk"), started_at__isnull=False)
    return loops.order_by("-pk")


def _measured(duration_ms: int | None, errors: int, outcome: str) -> Measured:
    return Measured(duration_ms, bool(errors) or outcome == "failed")
