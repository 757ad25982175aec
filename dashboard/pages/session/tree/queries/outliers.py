"""Turns that cost or took far more than the other turns of their loop.

The definition: of LEAST_TURNS or more ended turns of a loop that have a price, one is an outlier if it cost
more than TIMES the mean of the others; the same holds for the time, from LEAST_MS on. A turn is compared with
its own loop alone, so a commit changes no mark outside of the loops that it names. The database adds up the
turns; only those that may be outliers are read, of n turns fewer than (n + 3) / 2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Count, F, FloatField, Q, QuerySet, Sum, Window
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast
from django.db.models.lookups import GreaterThan

from dashboard.rendering.number_format import duration, money, plural
from dashboard.shared.compiled_query import compiled
from dashboard.shared.time_functions import Milliseconds
from recorder.models import Turn

LEAST_TURNS = 5  # of fewer ones none is far above the others
TIMES = 4
LEAST_MS = 1_000
NAMED = 5  # outliers that the words of a loop name


class Measured(NamedTuple):
    """An ended turn with its cost and time, None if unknown, and those of all turns of its loop."""

    turn: int  # its ordinal
    event: int | None  # its end
    nano: int | None
    priced: int  # turns of the loop that have a price
    all_nano: int | None  # what they cost
    ms: int | None
    timed: int
    all_ms: int | None


@dataclass(frozen=True, slots=True)
class Outlier:
    """A turn that stands out, and why: "cost $0.42, the other turns of its loop $0.021 on average"."""

    turn: int  # its ordinal
    event: int | None  # its end
    words: str


@dataclass(frozen=True, slots=True)
class LoopOutliers:
    """The outliers of one loop, in the order of its turns."""

    turns: tuple[Outlier, ...]

    @property
    def count(self) -> int:
        return len(self.turns)

    @property
    def by_turn(self) -> Mapping[int, Outlier]:
        """Return them by the ordinal of their turn."""
        return {outlier.turn: outlier for outlier in self.turns}

    @property
    def words(self) -> str:
        """Name the first ones: "Turn 14 cost …"."""
        named = [f"Turn {outlier.turn + 1:,} {outlier.words}" for outlier in self.turns[:NAMED]]
        more = [plural(self.count - NAMED, "more turn")] if self.count > NAMED else []
        return ". ".join([*named, *more])


NO_OUTLIERS = LoopOutliers(())


def of_loops(loops: Collection[int]) -> Mapping[int, LoopOutliers]:
    """Return the outliers of those loops that have any. One query."""
    return _by_loop(_of_loops(loops))


def of_session(session: int) -> Mapping[int, LoopOutliers]:
    """Return the outliers of those loops of a session that have any. One query."""
    return _by_loop(_of_session(session))


def _by_loop(rows: Iterable[tuple[Any, ...]]) -> Mapping[int, LoopOutliers]:
    turns: dict[int, list[Measured]] = defaultdict(list)
    for loop, *columns in rows:
        turns[loop].append(Measured(*columns))
    outliers_of = {loop: tuple(outliers(measured)) for loop, measured in turns.items()}
    return {loop: LoopOutliers(of_loop) for loop, of_loop in outliers_of.items() if of_loop}


def events_of(loops: Iterable[LoopOutliers]) -> frozenset[int | None]:
    """Return the events with which outliers ended."""
    return frozenset(outlier.event for loop in loops for outlier in loop.turns)


def outliers(turns: Iterable[Measured]) -> list[Outlier]:
    """Return the outliers among turns, in their order."""
    far_above = []
    for turn in turns:
        others_nano = mean_of_others(turn.nano, turn.priced, turn.all_nano)
        others_ms = mean_of_others(turn.ms, turn.timed, turn.all_ms)
        reasons = []
        if others_nano is not None:
            reasons.append(_reason("cost", money(turn.nano), money(others_nano)))
        if others_ms is not None and (turn.ms or 0) >= LEAST_MS:
            reasons.append(_reason("took", duration(turn.ms), duration(others_ms)))
        if reasons:
            far_above.append(Outlier(turn.turn, turn.event, "; ".join(reasons)))
    return far_above


def mean_of_others(amount: int | None, known: int, total: int | None) -> int | None:
    """Return the mean of the other known amounts if this one is more than TIMES it, else None."""
    if amount is None or total is None or known < LEAST_TURNS:
        return None
    rest, others = int(total) - amount, known - 1
    return rest // others if amount * others > TIMES * rest else None


def _reason(verb: str, own: str, others: str) -> str:
    return f"{verb} {own}, the other turns of its loop {others} on average"


@compiled
def _of_loops(loops: Collection[int]) -> QuerySet[Turn, tuple[Any, ...]]:
    return _candidates(Turn.objects.filter(loop__in_list=loops))


@compiled
def _of_session(session: int) -> QuerySet[Turn, tuple[Any, ...]]:
    return _candidates(Turn.objects.filter(loop__session=session))


def _candidates(turns: QuerySet[Turn]) -> QuerySet[Turn, tuple[Any, ...]]:
    """Query the ended turns, of loops that have enough, that may be outliers, as they are `Measured`."""
    candidates = turns.filter(loop__turns__gte=LEAST_TURNS, ended_at__isnull=False)
    candidates = candidates.annotate(length=Milliseconds(F("started_at"), F("ended_at"))).annotate(
        priced=_of_loop(Count("cost_nano")),
        all_nano=_of_loop(Sum("cost_nano")),
        timed=_of_loop(Count("length")),
        all_ms=_of_loop(Sum("length")),
    )
    dear = _may_be_far_above(F("cost_nano"), F("priced"), F("all_nano"))
    slow = _may_be_far_above(F("length"), F("timed"), F("all_ms"))
    columns = ("ordinal", "end_event", "cost_nano", "priced", "all_nano", "length", "timed", "all_ms")
    return candidates.filter(Q(dear) | Q(slow)).order_by("loop", "ordinal").values_list("loop", *columns)


def _of_loop(total: Count | Sum) -> Window:
    return Window(total, partition_by=F("loop"))


def _may_be_far_above(amount: Combinable, known: Combinable, total: Combinable) -> GreaterThan:
    """Compare as `mean_of_others` does, in floats, which never overflow, so with a smaller factor."""
    amount, known, total = (Cast(expression, FloatField()) for expression in (amount, known, total))
    return GreaterThan(amount * (known - 1.0), (TIMES - 1.0) * (total - amount))
