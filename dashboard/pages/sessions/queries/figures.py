"""Totals above the list, of the sessions that match its filters."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import starmap
from typing import Any

from django.db.models import BigIntegerField, Case, F, Max, Min, Q, QuerySet, Sum, When
from django.db.models import Count as CountRows

from dashboard.live.paged_list import COUNT_MAX, Count
from dashboard.pages.sessions.params import Filters
from dashboard.pages.sessions.queries.list import few, matching
from dashboard.pages.sessions.summary import Lines, LoopFigures, LoopTotals, lines, totals
from dashboard.shared.queries.session_filter import has_failed
from dashboard.shared.session_state import live, stale
from dashboard.shared.usage_bar import kinds
from dashboard.web.time_range import time_range
from dashboard.web.time_range import words as range_words
from recorder.models import LoopRecord, Session, Turn, happened

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
    """The tiles: sums over at most `COUNT_MAX` sessions of the range, the newest.

    Tokens and cost are those of the model calls that ended in the range, as on the costs page.
    """

    words: str  # which sessions are counted
    running: int
    waiting: int
    failed: int
    sessions: Count
    usage: TokenUsage
    cost_nano: int | None
    unpriced: int
    loops: LoopTotals
    lines: Lines

    @property
    def share_failed(self) -> float | None:
        return self.failed / min(self.sessions.value, COUNT_MAX) if self.sessions.value else None


def figures(project: int, filters: Filters, now: datetime) -> Figures:
    """Return the tiles of the sessions that match the filters. Four queries, and up to three more."""
    within = time_range(filters, now)
    pks = few(project, filters, now)
    found = matching(project, filters, now) if pks is None else Session.objects.filter(pk__in=pks)
    sessions = found.order_by("-last_event_at", "-pk")
    counted, are_all = _newest_sessions(sessions)
    sums = _sums(counted, live(now))
    if within.start and sums["begun"] and sums["begun"] < within.start:
        _subtract_calls(sums, sessions.filter(created_at__lt=within.start), Q(at__lt=within.start))
    if within.end and sums["latest"] and sums["latest"] >= within.end:
        _subtract_calls(sums, sessions.filter(last_event_at__gte=within.end), Q(at__gte=within.end))
    newest = sessions[:SESSIONS_MAX]
    loops = _loops(newest, now) if sums["sessions"] <= SESSIONS_MAX else None
    measured = _sample(newest) if loops is None else [loop.duration_ms for loop in loops]
    return Figures(
        words=_words(filters),
        running=sums["running"],
        waiting=sums["waiting"],
        failed=sums["failed"],
        sessions=Count(sums["sessions"] if are_all else COUNT_MAX + 1, COUNT_MAX),
        usage=TokenUsage(**{name: int(sums[name] or 0) for name in USAGE}),
        cost_nano=sums["cost_nano"],
        unpriced=sums["unpriced"] or 0,
        loops=totals(measured),
        lines=Lines() if loops is None else lines(loops, within.start, min(now, within.end or now)),
    )


def _words(filters: Filters) -> str:
    is_all = filters.since == "all" and not filters.until
    words = "All time" if is_all else range_words(filters.since).capitalize()
    return f"{words}, filtered" if filters.is_filtered else words


def _newest_sessions(sessions: QuerySet[Session]) -> tuple[QuerySet[Session], bool]:
    """Return the newest `COUNT_MAX` sessions, and whether they are all.

    They are chosen by a condition, because a sum over a slice copies its rows.
    """
    last = list(sessions.values_list("last_event_at", "pk")[COUNT_MAX - 1 : COUNT_MAX + 1])
    if len(last) < 2:
        return sessions, True
    at, pk = last[0]
    newest = Q(last_event_at__gt=at) | Q(last_event_at=at, pk__gte=pk)
    return sessions.filter(newest, last_event_at__gte=at), False


def _sums(sessions: QuerySet[Session], is_live: Q) -> dict[str, Any]:
    return sessions.order_by().aggregate(
        sessions=CountRows("pk"),
        begun=Min("created_at"),
        latest=Max("last_event_at"),
        running=CountRows("pk", filter=Q(status="running") & is_live),
        failed=CountRows("pk", filter=has_failed()),  # before `waiting`, which it reads as a column
        waiting=CountRows("pk", filter=Q(waiting__gt=0) & is_live),
        **_sums_of_calls(),
    )


def _subtract_calls(sums: dict[str, Any], sessions: QuerySet[Session], is_outside: Q) -> None:
    """Subtract the model calls of the sessions that ended outside of the range, a condition on `at`."""
    reached = sessions[:COUNT_MAX].values("pk")
    turns = Turn.objects.filter(loop__session__in=reached, state="done")
    loops = LoopRecord.objects.filter(session__in=reached, is_one_call=True)
    for calls, session in ((turns, "loop__session__"), (loops, "session__")):
        outside = calls.alias(at=happened("ended")).filter(is_outside)
        for name, amount in outside.aggregate(**_sums_of_calls(session)).items():
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
    """Return the loops of sessions; None if there are too many. One query, two if a loop has not ended."""
    tokens = F("input_tokens") + F("output_tokens") + F("cache_read_tokens") + F("cache_write_tokens")
    columns = ("session", "started_at", "ended_at", tokens, "duration_ms")
    rows = list(_newest(sessions).values_list(*columns)[: LOOPS_MAX + 1])
    if len(rows) > LOOPS_MAX:
        return None
    loops = list(starmap(LoopFigures, rows))
    if unended := {loop.session for loop in loops if loop.ended_at is None}:
        silent = Session.objects.filter(stale(now), pk__in=unended)
        since = dict(silent.values_list("pk", "last_event_at"))
        loops = [loop if loop.ended_at else loop.silent(since.get(loop.session)) for loop in loops]
    return loops


def _sample(sessions: QuerySet[Session]) -> list[int | None]:
    return list(_newest(sessions).values_list("duration_ms", flat=True)[:SAMPLE])


def _newest(sessions: QuerySet[Session]) -> QuerySet[LoopRecord]:
    loops = LoopRecord.objects.filter(session__in=sessions.values("pk"), started_at__isnull=False)
    return loops.order_by("-pk")
