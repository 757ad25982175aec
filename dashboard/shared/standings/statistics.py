"""Statistics of win rates: Wilson intervals, exact binomial tests, Pareto frontier. Pure.

Exact tests, because evaluations are few: sums of binomial terms are computed from the first term by ratios,
with
`lgamma` against overflow, until a term no longer changes the sum. Cost: at most n terms; some hundred in
practice.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import exp, inf, lgamma, log, sqrt

Z = 1.959963984540054  # 97.5 % quantile of the normal distribution, for 95 % intervals
SIGNIFICANCE = 0.05  # p values below are significant
MEAN_LEAST = 5  # values from which on a mean has an interval
NEGLIGIBLE = 1e-18  # terms below this share of the sum are dropped


@dataclass(frozen=True, slots=True)
class Interval:
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PositionBias:
    """The position that won most often, and the p value for equal chances of all positions."""

    place: int
    p: float

    @property
    def is_doubtful(self) -> bool:
        return self.p < SIGNIFICANCE

    @property
    def number(self) -> int:
        """Return the position, counted from 1."""
        return self.place + 1

    @property
    def words(self) -> str:
        return significance(self.p)


def wilson(wins: int, of: int) -> Interval | None:
    """Return the 95 % confidence interval of a win rate (Wilson score interval); None without groups."""
    if not of:
        return None
    share, squared = wins / of, Z * Z / of
    middle = (share + squared / 2) / (1 + squared)
    half = Z / (1 + squared) * sqrt(share * (1 - share) / of + squared / (4 * of))
    return Interval(min(share, max(0.0, middle - half)), max(share, min(1.0, middle + half)))


def mean_interval(n: int, mean: float, squares: float) -> Interval | None:
    """Return the 95 % confidence interval of a mean, `squares` being the sum of squares; None for few values.

    Student's t by its expansion in 1/n, within one per cent of the quantile from five values on.
    """
    if n < MEAN_LEAST:
        return None
    freedom = n - 1
    quantile = Z + (Z**3 + Z) / (4 * freedom) + (5 * Z**5 + 16 * Z**3 + 3 * Z) / (96 * freedom**2)
    variance = max(0.0, squares - n * mean * mean) / freedom
    half = quantile * sqrt(variance / n)
    return Interval(mean - half, mean + half)


def sign_test(one: int, other: int) -> float | None:
    """Return the two-sided p value of the sign test; None when neither ever won."""
    n = one + other
    return min(1.0, 2 * at_least(max(one, other), n, 0.5)) if n else None


def favour(wins: Sequence[int]) -> PositionBias | None:
    """Test the wins by position for a preferred position; None without wins or with one position.

    The exact binomial tail of the most frequent position, times the number of positions (Bonferroni): exact
    when the position has more than half of the wins, conservative otherwise.
    """
    total = sum(wins)
    if not total or len(wins) == 1:
        return None
    most = max(wins)
    return PositionBias(wins.index(most), min(1.0, len(wins) * at_least(most, total, 1 / len(wins))))


def at_least(k: int, n: int, p: float) -> float:
    """Return the probability of at least `k` (0 to `n`) successes in `n` trials, each with 0 < `p` < 1."""
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
    """Return the nearest-rank percentile: a value of the collection."""
    return sorted(values)[-(-percent * len(values) // 100) - 1]


def frontier(points: Sequence[tuple[float, float]]) -> list[int]:
    """Return the indexes of the Pareto-optimal points (cost, win rate), cheapest first.

    A point is Pareto-optimal when no other costs as much or less and has a higher win rate, or costs less at
    the same.
    Sorting by cost, then by rate descending, makes one pass enough. Equal points are all returned.
    """
    best, optimal = -inf, list[int]()
    for at in sorted(range(len(points)), key=lambda at: (points[at][0], -points[at][1])):
        cost, rate = points[at]
        if rate > best or (optimal and points[optimal[-1]] == (cost, rate)):
            best = rate
            optimal.append(at)
    return optimal


def significance(p: float) -> str:
    """Return the verdict of a test at the level of `SIGNIFICANCE`."""
    return "significant" if p < SIGNIFICANCE else "not significant"
