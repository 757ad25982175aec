"""Standings: participation, wins and cost of each config, added up over results. Pure.

Only judged groups count for win rates and costs. Groups decided by a rule are counted separately, and a
fallback
selection is not a win. Configs with at least `RANKED_FROM` judged groups are ranked by the lower bound of
the 95 %
interval of their win rate, so that few lucky wins do not lead. Cost: linear in results and their branches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from dashboard.shared.standings.statistics import Interval, wilson
from recorder.core.records import Verdict

RANKED_FROM = 20  # judged groups that a config needs for a rank
UNKNOWN = 0  # the config of a branch that did not report one


@dataclass(frozen=True, slots=True)
class CostSum:
    """A sum of costs in nano-dollars; None when no part has a price. `unpriced` counts the parts left out."""

    nano: Fraction | None = None
    unpriced: int = 0

    def __add__(self, other: CostSum) -> CostSum:
        nanos = [nano for nano in (self.nano, other.nano) if nano is not None]
        return CostSum(sum(nanos, Fraction()) if nanos else None, self.unpriced + other.unpriced)

    def over(self, count: int) -> CostSum:
        """Return one of `count` equal shares; unknown when `count` is 0."""
        if not count or self.nano is None:
            return CostSum(None, self.unpriced)
        return CostSum(self.nano / count, self.unpriced)

    @property
    def rounded(self) -> int | None:
        """Return whole nano-dollars."""
        return None if self.nano is None else round(self.nano)

    @property
    def is_whole(self) -> bool:
        """Whether every part has a price."""
        return self.nano is not None and not self.unpriced


@dataclass(frozen=True, slots=True)
class Entry:
    """Usage of one config's branches in a result."""

    config: int
    cost: CostSum = CostSum()
    prompted: int = 0  # prompt tokens, cached or not
    cached: int = 0  # prompt tokens read from the cache


@dataclass(frozen=True, slots=True)
class Result:
    """Groups with the same configs by position, the same judge, verdict and winning position."""

    configs: tuple[int, ...]
    won: int | None
    verdict: Verdict
    groups: int
    judge: int = UNKNOWN
    judging: CostSum = CostSum()
    entries: tuple[Entry, ...] = ()

    @property
    def winner(self) -> int:
        return UNKNOWN if self.won is None else self.configs[self.won]

    @property
    def total(self) -> CostSum:
        """Return the cost of all branches and the judge."""
        return sum((entry.cost for entry in self.entries), self.judging)


@dataclass(slots=True)
class Standing:
    """Counts and costs of one config."""

    config: int
    groups: int = 0  # groups that ended
    judged: int = 0
    wins: int = 0
    ruled: int = 0
    picked: int = 0  # decided by a rule and selected
    fallback: int = 0
    cost: CostSum = CostSum()
    prompted: int = 0
    cached: int = 0
    p95_ms: int | None = None
    rank: int | None = None
    by_place: Counter[int] = field(default_factory=Counter)
    last_place: int = -1  # the last position at which it took part

    @property
    def rate(self) -> float | None:
        return self.wins / self.judged if self.judged else None

    @property
    def interval(self) -> Interval | None:
        return wilson(self.wins, self.judged)

    @property
    def is_few(self) -> bool:
        return self.judged < RANKED_FROM

    @property
    def per_task(self) -> CostSum:
        return self.cost.over(self.judged)

    @property
    def per_win(self) -> CostSum:
        return self.cost.over(self.wins) if self.wins else CostSum(None, 0)

    @property
    def cache_hits(self) -> float | None:
        """Return the share of prompt tokens that were read from the cache."""
        return self.cached / self.prompted if self.prompted else None

    @property
    def places(self) -> tuple[int, ...]:
        """Return the wins by position, up to the last position at which it took part."""
        return tuple(self.by_place[place] for place in range(self.last_place + 1))

    def add(self, result: Result) -> None:
        """Add a result in which this config took part."""
        has_won = result.winner == self.config
        self.groups += result.groups
        if result.verdict == "rule":
            self.ruled += result.groups
            self.picked += result.groups * has_won
        elif result.verdict == "fallback":
            self.fallback += result.groups
        elif result.verdict == "judged":
            self._judged(result, has_won=has_won)

    def _judged(self, result: Result, *, has_won: bool) -> None:
        self.judged += result.groups
        last = max(place for place, config in enumerate(result.configs) if config == self.config)
        self.last_place = max(self.last_place, last)
        if has_won and result.won is not None:
            self.wins += result.groups
            self.by_place[result.won] += result.groups
        for entry in result.entries:
            if entry.config == self.config:
                self.cost += entry.cost
                self.prompted += entry.prompted
                self.cached += entry.cached


def standings(results: Iterable[Result], p95_ms: Mapping[int, int]) -> list[Standing]:
    """Return all configs: ranked ones by the lower bound of their interval, then the others."""
    found: dict[int, Standing] = {}
    for result in results:
        for config in set(result.configs) - {UNKNOWN}:
            found.setdefault(config, Standing(config, p95_ms=p95_ms.get(config))).add(result)
    ordered = sorted(found.values(), key=_order)
    for rank, standing in enumerate((standing for standing in ordered if not standing.is_few), 1):
        standing.rank = rank
    return ordered


def judged(results: Sequence[Result]) -> list[Result]:
    return [result for result in results if result.verdict == "judged"]


def _order(standing: Standing) -> tuple[bool, float, int, int]:
    interval = standing.interval
    low = interval.low if interval else 0.0
    return standing.is_few, -low, -standing.judged, standing.config
