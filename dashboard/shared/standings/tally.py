"""What groups came to: who took part, who won and what it cost, added up for each config. Pure.

Only judged groups count. Those that a rule decided stand apart, and what a fallback picked is no win.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from dashboard.shared.standings.statistics import Interval, wilson
from recorder.core.handlers.verdict import Verdict

ENOUGH = 20  # judged groups, below which a config has no rank
UNKNOWN = 0  # the config of a branch that never said which it is


@dataclass(frozen=True, slots=True)
class Spent:
    """A sum of costs: None when nothing in it has a price; `unpriced` parts are left out of it."""

    nano: Fraction | None = None
    unpriced: int = 0

    def __add__(self, other: Spent) -> Spent:
        known = [nano for nano in (self.nano, other.nano) if nano is not None]
        return Spent(sum(known, Fraction()) if known else None, self.unpriced + other.unpriced)

    def over(self, count: int) -> Spent:
        """Return one of `count` equal shares; there is none without any."""
        if not count or self.nano is None:
            return Spent(None, self.unpriced)
        return Spent(self.nano / count, self.unpriced)

    @property
    def rounded(self) -> int | None:
        """Return whole nano-dollars."""
        return None if self.nano is None else round(self.nano)

    @property
    def is_whole(self) -> bool:
        """Say whether everything in it has a price."""
        return self.nano is not None and not self.unpriced


@dataclass(frozen=True, slots=True)
class Entry:
    """What one config's branches in some groups took together."""

    config: int
    spent: Spent = Spent()
    prompted: int = 0  # tokens sent, from the cache or not
    cached: int = 0  # of them, read from the cache


@dataclass(frozen=True, slots=True)
class Result:
    """Groups in which the same configs stood at the same places, one judge judged and the same place won."""

    configs: tuple[int, ...]
    won: int | None
    verdict: Verdict
    groups: int
    judge: int = UNKNOWN
    judging: Spent = Spent()
    entries: tuple[Entry, ...] = ()

    @property
    def winner(self) -> int:
        return UNKNOWN if self.won is None else self.configs[self.won]

    @property
    def total(self) -> Spent:
        """Return what all branches and the judge cost."""
        return sum((entry.spent for entry in self.entries), self.judging)


@dataclass(slots=True)
class Standing:
    """One config: how often it took part and won, and what that cost."""

    config: int
    groups: int = 0  # that ended
    judged: int = 0
    wins: int = 0
    ruled: int = 0
    picked: int = 0  # of the ruled
    fallback: int = 0
    spent: Spent = Spent()
    prompted: int = 0
    cached: int = 0
    p95_ms: int | None = None
    rank: int | None = None
    by_place: Counter[int] = field(default_factory=Counter)
    last_place: int = -1  # at which it ever stood

    @property
    def rate(self) -> float | None:
        return self.wins / self.judged if self.judged else None

    @property
    def interval(self) -> Interval | None:
        return wilson(self.wins, self.judged)

    @property
    def is_few(self) -> bool:
        return self.judged < ENOUGH

    @property
    def per_task(self) -> Spent:
        return self.spent.over(self.judged)

    @property
    def per_win(self) -> Spent:
        return self.spent.over(self.wins) if self.wins else Spent(None, 0)

    @property
    def cache_hits(self) -> float | None:
        """Return the share of what was sent that the cache had."""
        return self.cached / self.prompted if self.prompted else None

    @property
    def places(self) -> tuple[int, ...]:
        """Return the wins at each place up to the last one at which it stood."""
        return tuple(self.by_place[place] for place in range(self.last_place + 1))

    def add(self, result: Result) -> None:
        """Count groups in which this config took part."""
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
                self.spent += entry.spent
                self.prompted += entry.prompted
                self.cached += entry.cached


def standings(results: Iterable[Result], p95_ms: Mapping[int, int]) -> list[Standing]:
    """Return every config that took part: the ranked by the low end of their interval, then the others."""
    found: dict[int, Standing] = {}
    for result in results:
        for config in set(result.configs) - {UNKNOWN}:
            found.setdefault(config, Standing(config, p95_ms=p95_ms.get(config))).add(result)
    ordered = sorted(found.values(), key=_order)
    for rank, standing in enumerate((each for each in ordered if not each.is_few), 1):
        standing.rank = rank
    return ordered


def judged(results: Sequence[Result]) -> list[Result]:
    return [result for result in results if result.verdict == "judged"]


def _order(standing: Standing) -> tuple[bool, float, int, int]:
    interval = standing.interval
    low = interval.low if interval else 0.0
    return standing.is_few, -low, -standing.judged, standing.config
