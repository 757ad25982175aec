"""What wins say and what they do not: intervals, exact tests, and what nothing else beats. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import exp, inf, lgamma, log, sqrt

Z = 1.959963984540054  # 95 % of a normal distribution lie within so many deviations
DOUBT = 0.05  # below this chance a result is hardly one of luck
NEGLIGIBLE = 1e-18


@dataclass(frozen=True, slots=True)
class Interval:
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Favour:
    """The place that won most often among equals, and the chance that some place wins so often by luck."""

    place: int
    p: float

    @property
    def is_doubtful(self) -> bool:
        return self.p < DOUBT

    @property
    def number(self) -> int:
        """Return the place as people count."""
        return self.place + 1

    @property
    def words(self) -> str:
        return chance(self.p)


def wilson(wins: int, of: int) -> Interval | None:
    """Return where a win rate lies with 95 % confidence (Wilson's score interval), None without any group."""
    if not of:
        return None
    share, squared = wins / of, Z * Z / of
    middle = (share + squared / 2) / (1 + squared)
    half = Z / (1 + squared) * sqrt(share * (1 - share) / of + squared / (4 * of))
    return Interval(min(share, max(0.0, middle - half)), max(share, min(1.0, middle + half)))


def sign_test(one: int, other: int) -> float | None:
    """Return the chance that equals differ at least so much, either way; None when neither ever won."""
    n = one + other
    return min(1.0, 2 * at_least(max(one, other), n, 0.5)) if n else None


def favour(wins: Sequence[int]) -> Favour | None:
    """Test wins by place against places that do not matter; None without wins or with one place.

    The exact binomial tail of the first of the most frequent places, times the number of places: exact when
    it has more than half of the wins, too large at worst otherwise.
    """
    total = sum(wins)
    if not total or len(wins) == 1:
        return None
    most = max(wins)
    return Favour(wins.index(most), min(1.0, len(wins) * at_least(most, total, 1 / len(wins))))


def at_least(k: int, n: int, p: float) -> float:
    """Return the chance of `k` (0 to `n`) or more successes in `n` tries, each with chance `p`, 0 < p < 1."""
    if k == 0:
        return 1.0
    if k <= n * p:
        return 1 - at_least(n - k + 1, n, 1 - p)
    log_term = lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) + (n - k) * log(1 - p)
    term = total = exp(log_term)
    while k < n and term > total * NEGLIGIBLE:
        term *= (n - k) / (k + 1) * p / (1 - p)
        total += term
        k += 1
    return min(1.0, total)


def percentile(percent: int, values: Collection[int]) -> int:
    """Return the smallest of some values that so many in a hundred do not exceed (the nearest rank)."""
    return sorted(values)[-(-percent * len(values) // 100) - 1]


def frontier(points: Sequence[tuple[float, float]]) -> list[int]:
    """Return which points (cost, win rate) nothing beats, cheapest first: what is no dearer wins less."""
    best, kept = -inf, list[int]()
    for at in sorted(range(len(points)), key=lambda at: (points[at][0], -points[at][1])):
        cost, rate = points[at]
        if rate > best or (kept and points[kept[-1]] == (cost, rate)):
            best = rate
            kept.append(at)
    return kept


def chance(p: float) -> str:
    """Say a chance in words."""
    if p >= 0.5:
        return "as often as not by chance alone"
    if p < 0.001:
        return "less than once in 1,000 times by chance alone"
    return f"about once in {1 / p:.0f} times by chance alone"
