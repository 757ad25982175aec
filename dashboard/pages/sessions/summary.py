"""Totals and sparklines of the loops in a time range. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

BUCKETS = 24
LEAST_LOOPS = 4  # fewer loops have no sparkline


class LoopFigures(NamedTuple):
    """Figures of one started loop; the duration of a running loop is None. There are thousands at once."""

    session: int
    started_at: datetime
    ended_at: datetime | None
    tokens: int
    duration_ms: int | None
    silent_since: datetime | None = None  # the last event of a loop that did not end and is stale

    def silent(self, since: datetime | None) -> LoopFigures:
        return self._replace(silent_since=since)

    @property
    def until(self) -> datetime | None:
        """Return the end of the time in which it ran; None while it runs."""
        return self.ended_at or self.silent_since


@dataclass(frozen=True, slots=True)
class Lines:
    """One value per interval of the time range, for each tile; empty when there is too little to draw."""

    running: Sequence[float] = ()
    sessions: Sequence[float] = ()
    tokens: Sequence[float] = ()
    length: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class LoopTotals:
    loops: int
    p50: int | None  # milliseconds
    p95: int | None


def totals(durations: Sequence[int | None]) -> LoopTotals:
    """Return the number of loops with these durations, and percentiles of the ended ones."""
    lengths = [duration for duration in durations if duration is not None]
    return LoopTotals(
        loops=len(durations),
        p50=percentile(lengths, 50),
        p95=percentile(lengths, 95),
    )


def percentile(lengths: Sequence[int], rank: int) -> int | None:
    """Return the nearest-rank percentile, which is always a duration that occurred."""
    ordered = sorted(lengths)
    return ordered[-(-len(ordered) * rank // 100) - 1] if ordered else None


def lines(loops: Sequence[LoopFigures], start: datetime | None, now: datetime) -> Lines:
    """Return the sparklines from `start`, or from the first loop; empty with too few loops."""
    begin = start or min((loop.started_at for loop in loops), default=now)
    end = now if start else max((loop.until or now for loop in loops), default=now)
    inside = [loop for loop in loops if begin <= (loop.until or now) and loop.started_at <= end]
    if len(inside) < LEAST_LOOPS or end - begin < timedelta(minutes=1):
        return Lines()
    return _Buckets(inside, begin, end).lines()


class _Buckets:
    """Loops of a time range, grouped by interval."""

    def __init__(self, loops: Sequence[LoopFigures], begin: datetime, end: datetime) -> None:
        self._begin, self._end = begin, end
        self._width = (end - begin) / BUCKETS
        self._loops = loops
        self._ended: list[list[LoopFigures]] = [[] for _ in range(BUCKETS)]
        self._live: list[set[int]] = [set() for _ in range(BUCKETS)]
        for loop in loops:
            last = self._index(loop.until or end)
            for index in range(self._index(loop.started_at), last + 1):
                self._live[index].add(loop.session)
            if loop.ended_at:
                self._ended[last].append(loop)

    def lines(self) -> Lines:
        return Lines(
            running=[len(sessions) for sessions in self._live],
            sessions=self._starts(),
            tokens=self._of_ended(lambda loops: sum(loop.tokens for loop in loops)),
            length=self._of_ended(_p95_seconds),
        )

    def _index(self, moment: datetime) -> int:
        return min(max(int((moment - self._begin) / self._width), 0), BUCKETS - 1)

    def _starts(self) -> list[float]:
        first: dict[int, datetime] = {}
        for loop in self._loops:
            first[loop.session] = min(loop.started_at, first.get(loop.session, loop.started_at))
        counts = [0.0] * BUCKETS
        for started_at in first.values():
            if started_at >= self._begin:
                counts[self._index(started_at)] += 1
        return counts

    def _of_ended(self, figure: Callable[[Sequence[LoopFigures]], float]) -> list[float]:
        return [figure(loops) for loops in self._ended]


def _p95_seconds(loops: Sequence[LoopFigures]) -> float:
    return (totals([loop.duration_ms for loop in loops]).p95 or 0) / 1_000
