"""Turns that cost or took far more than the other turns of their loop.

The definition: of LEAST_TURNS or more ended turns of a loop that have a price, one is an outlier if it cost
more than TIMES the mean of the others; the same holds for the time, from LEAST_MS on. A turn is compared with
its own loop alone, so a commit changes no mark outside of the loops that it names. Cost: one query that reads
five numbers of each turn, and one pass over them; of n turns fewer than (n + 3) / 4 are outliers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import F, QuerySet

from dashboard.rendering.number_format import duration, money, plural
from dashboard.shared.compiled_query import compiled
from dashboard.shared.time_functions import Milliseconds
from recorder.models import Turn

LEAST_TURNS = 5  # of fewer ones none is far above the others
TIMES = 4
LEAST_MS = 1_000
NAMED = 5  # outliers that the words of a loop name


class Measured(NamedTuple):
    """An ended turn with its cost and time, each None if it is unknown."""

    turn: int  # its ordinal
    event: int | None  # its end
    nano: int | None
    ms: int | None


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
        return {each.turn: each for each in self.turns}

    @property
    def words(self) -> str:
        """Name the first ones: "Turn 14 cost …"."""
        named = [f"Turn {each.turn + 1:,} {each.words}" for each in self.turns[:NAMED]]
        more = [plural(self.count - NAMED, "more turn")] if self.count > NAMED else []
        return ". ".join([*named, *more])


NO_OUTLIERS = LoopOutliers(())


def of_loops(loops: Collection[int]) -> Mapping[int, LoopOutliers]:
    """Return the outliers of those loops that have any. One query."""
    turns: dict[int, list[Measured]] = defaultdict(list)
    for loop, *columns in _turns(loops):
        turns[loop].append(Measured(*columns))
    found = {loop: tuple(outliers(measured)) for loop, measured in turns.items()}
    return {loop: LoopOutliers(of_loop) for loop, of_loop in found.items() if of_loop}


def events_of(loops: Iterable[LoopOutliers]) -> frozenset[int | None]:
    """Return the events with which outliers ended."""
    return frozenset(each.event for loop in loops for each in loop.turns)


def outliers(turns: Sequence[Measured]) -> list[Outlier]:
    """Return the outliers among the turns of a loop, in the order of the turns."""
    dear = far_above([turn.nano for turn in turns])
    slow = far_above([turn.ms for turn in turns])
    found = []
    for turn, others_nano, others_ms in zip(turns, dear, slow, strict=True):
        reasons = []
        if others_nano is not None:
            reasons.append(_reason("cost", money(turn.nano), money(others_nano)))
        if others_ms is not None and (turn.ms or 0) >= LEAST_MS:
            reasons.append(_reason("took", duration(turn.ms), duration(others_ms)))
        if reasons:
            found.append(Outlier(turn.turn, turn.event, "; ".join(reasons)))
    return found


def far_above(amounts: Sequence[int | None]) -> list[int | None]:
    """Return the mean of the other known amounts for each that is more than TIMES it, None for the rest."""
    known = [amount for amount in amounts if amount is not None]
    others, total = len(known) - 1, sum(known)
    if len(known) < LEAST_TURNS:
        return [None] * len(amounts)
    return [
        (total - amount) // others
        if amount is not None and amount * others > TIMES * (total - amount)
        else None
        for amount in amounts
    ]


def _reason(verb: str, own: str, others: str) -> str:
    return f"{verb} {own}, the other turns of its loop {others} on average"


@compiled
def _turns(loops: Collection[int]) -> QuerySet[Turn, tuple[Any, ...]]:
    """Query the ended turns of loops that have enough."""
    turns = Turn.objects.filter(loop__in_list=loops, loop__turns__gte=LEAST_TURNS, ended_at__isnull=False)
    ms = Milliseconds(F("started_at"), F("ended_at"))
    return turns.order_by("loop", "ordinal").values_list("loop", "ordinal", "end_event", "cost_nano", ms)
