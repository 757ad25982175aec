"""Totals above the list, for a time range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import BigIntegerField, Case, F, Min, Q, QuerySet, Sum, When
from django.db.models import Count as CountRows

from dashboard.live.paged_list import COUNT_MAX, Count, count
from dashboard.pages.sessions.summary import Lines, LoopFigures, LoopTotals, lines, totals
from dashboard.shared.session_filter import Wanted, has_failed, matching
from dashboard.shared.session_state import SHOWN, State, is_stale, live
from dashboard.shared.usage_bar import kinds
from dashboard.web import query_params
from recorder.models import LoopRecord, Session, Turn

SESSIONS_MAX = 2_000  # newest sessions whose loops are read
LOOPS_MAX = 5_000  # with more loops there are no sparklines
SAMPLE = 2_000  # loops that are measured when there are more
USAGE = ("input_tokens", "output_tokens", "reasoning_tokens", "cache_read_tokens", "cache_write_tokens")


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
    """The tiles. `is_part`: the range has too many sessions, and sums cover only the newest.

    Tokens and cost are those of the model calls that ended in the range, as on the costs page.
    """

    since: str
    running: int
    waiting: int
    failed: int
    sessions: Count
    usage: TokenUsage
    cost_nano: int | None
    unpriced: int
    loops: LoopTotals
    lines: Lines
    is_part: bool

    @property
    def share_failed(self) -> float | None:
        return self.failed / min(self.sessions.value, COUNT_MAX) if self.sessions.value else None


def figures(project: int, since: str, now: datetime) -> Figures:
    """Return the tiles of one project. Three queries, and up to three more."""
    start = query_params.start(since, now)
    sessions = matching(project, Wanted(since=start)).order_by("-last_event_at", "-pk")
    sums = _sums(sessions[:COUNT_MAX], live(now))
    if start and sums["begun"] and sums["begun"] < start:
        _subtract_calls_before(sums, sessions, start)
    newest = sessions[:SESSIONS_MAX]
    loops = _loops(newest, now) if sums["sessions"] <= SESSIONS_MAX else None
    measured = _sample(newest) if loops is None else [loop.duration_ms for loop in loops]
    return Figures(
        since=since,
        running=sums["running"],
        waiting=sums["waiting"],
        failed=sums["failed"],
        sessions=Count(sums["sessions"]) if sums["sessions"] < COUNT_MAX else count(sessions),
        usage=TokenUsage(**{name: int(sums[name] or 0) for name in USAGE}),
        cost_nano=sums["cost_nano"],
        unpriced=sums["unpriced"] or 0,
        loops=totals(measured),
        lines=Lines() if loops is None else lines(loops, start, now),
        is_part=loops is None,
    )


def _sums(sessions: QuerySet[Session], is_live: Q) -> dict[str, Any]:
    return sessions.aggregate(
        sessions=CountRows("pk"),
        begun=Min("created_at"),
        running=CountRows("pk", filter=Q(status="running") & is_live),
        failed=CountRows("pk", filter=has_failed()),  # before `waiting`, which it reads as a column
        waiting=CountRows("pk", filter=Q(waiting__gt=0) & is_live),
        **_sums_of_calls(),
    )


def _subtract_calls_before(sums: dict[str, Any], sessions: QuerySet[Session], start: datetime) -> None:
    """Subtract the model calls that ended before the range in sessions that began before it."""
    begun = sessions.filter(created_at__lt=start)[:COUNT_MAX].values("pk")
    turns = Turn.objects.filter(loop__session__in=begun, state="done", ended_at__lt=start)
    loops = LoopRecord.objects.filter(session__in=begun, is_one_call=True, ended_at__lt=start)
    for calls, session in ((turns, "loop__session__"), (loops, "session__")):
        for name, amount in calls.aggregate(**_sums_of_calls(session)).items():
            if amount:
                sums[name] = max(0, (sums[name] or 0) - amount)


def _sums_of_calls(session: str = "") -> dict[str, Sum]:
    """Return the sums of cost and tokens of sessions, or of calls that `session` leads to their session from.

    In place of raw counts, which include cached input with some providers and not with others, the disjoint
    buckets of a session whose calls all reconcile.
    """
    is_reconciled = Q(**{f"{session}unreconciled": 0})
    buckets = {
        "input_tokens": F("uncached_tokens"),
        "output_tokens": F("visible_tokens") + F("reasoning_tokens"),
    }
    chosen = {
        name: Case(When(is_reconciled, then=bucket), default=name, output_field=BigIntegerField())
        for name, bucket in buckets.items()
    }
    return {name: Sum(chosen.get(name, name)) for name in ("cost_nano", "unpriced", *USAGE)}


def _loops(sessions: QuerySet[Session], now: datetime) -> list[LoopFigures] | None:
    """Return the loops of sessions; None if there are too many."""
    tokens = F("input_tokens") + F("output_tokens") + F("cache_read_tokens") + F("cache_write_tokens")
    columns = ("session", "started_at", "ended_at", tokens, "duration_ms")
    state = [f"session__{name}" for name in SHOWN]
    found = list(_newest(sessions).values_list(*columns, *state)[: LOOPS_MAX + 1])
    if len(found) > LOOPS_MAX:
        return None
    return [_loop(row[: len(columns)], State(*row[len(columns) :]), now) for row in found]


def _loop(figures: Sequence[Any], session: State, now: datetime) -> LoopFigures:
    silent_since = session.last_event_at if is_stale(session, now) else None
    return LoopFigures(*(*figures, silent_since))


def _sample(sessions: QuerySet[Session]) -> list[int | None]:
    return list(_newest(sessions).values_list("duration_ms", flat=True)[:SAMPLE])


def _newest(sessions: QuerySet[Session]) -> QuerySet[LoopRecord]:
    loops = LoopRecord.objects.filter(session__in=sessions.values("pk"), started_at__isnull=False)
    return loops.order_by("-pk")
