"""Figures of branches side by side, with the best of each row. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from dashboard.rendering.number_format import NONE, duration, exact, money, percent, tokens
from dashboard.shared.queries.costs import HasCost, words
from dashboard.shared.usage_bar import Kind

COST = "Cost"

Better = Literal["less", "more", ""]


@dataclass(frozen=True, slots=True)
class Figures:
    """Usage and activity of one branch."""

    has_started: bool
    has_completed: bool
    duration_ms: int | None
    cost: HasCost
    kinds: Sequence[Kind]
    turns: int
    tool_calls: int
    failed_tools: int

    @property
    def tokens(self) -> int:
        return sum(kind.count for kind in self.kinds)

    @property
    def cache_hits(self) -> float | None:
        """Return the share of prompt tokens that were read from the cache."""
        read, sent, written = (kind.count for kind in self.kinds[:3])
        return read / (read + sent + written) if read + sent + written else None


@dataclass(frozen=True, slots=True)
class _Row:
    """The computation, format and comparison of one figure."""

    name: str
    value: Callable[[Figures], float | None]
    text: Callable[[Figures], str]
    better: Better = "less"
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """Figure of one branch; `share` is the bar's length in percent of the row's largest value."""

    text: str
    title: str
    is_best: bool
    share: float


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One figure of all branches."""

    name: str
    figures: Sequence[Figure]
    better: Better
    tone: str

    @property
    def hint(self) -> str:
        return f"{self.better.capitalize()} is better" if self.better else ""


def results(branches: Sequence[Figures]) -> list[FigureRow]:
    """Return the rows. A branch that did not start has no figures; only a completed branch can be best."""
    return [_row(branches, row) for row in _rows(branches)]


def best(values: Sequence[float | None], better: Better) -> set[int]:
    """Return the indexes of the best values; none when all are equal or there is only one."""
    distinct = {value for value in values if value is not None}
    if not better or len(distinct) <= 1:
        return set()
    top = min(distinct) if better == "less" else max(distinct)
    return {n for n, value in enumerate(values) if value == top}


def _rows(branches: Sequence[Figures]) -> Iterator[_Row]:
    yield _Row(
        COST,
        lambda branch: branch.cost.cost_nano,
        lambda branch: money(branch.cost.cost_nano, branch.cost.unpriced),
    )
    yield _Row("Latency", lambda branch: branch.duration_ms, lambda branch: duration(branch.duration_ms))
    yield _Row("Tokens", lambda branch: branch.tokens, lambda branch: tokens(branch.tokens))
    for n, kind in enumerate(branches[0].kinds if branches else ()):
        yield _bucket(n, kind)
    yield _Row(
        "Cache hits",
        lambda branch: branch.cache_hits,
        lambda branch: percent(branch.cache_hits),
        "more",
        "usage-cache-read",
    )
    yield _Row("Turns", lambda branch: branch.turns, lambda branch: exact(branch.turns))
    yield _Row("Tool calls", lambda branch: branch.tool_calls, lambda branch: exact(branch.tool_calls))
    yield _Row(
        "Failed tools",
        lambda branch: branch.failed_tools,
        lambda branch: exact(branch.failed_tools),
        tone="event-error",
    )


def _bucket(n: int, kind: Kind) -> _Row:
    return _Row(
        kind.name.capitalize(),
        lambda branch: branch.kinds[n].count,
        lambda branch: tokens(branch.kinds[n].count),
        "" if kind.css == "usage-cache-read" else "less",  # more cache reads are neither better nor worse
        kind.css,
    )


def _row(branches: Sequence[Figures], row: _Row) -> FigureRow:
    values = [row.value(branch) if branch.has_started else None for branch in branches]
    texts = [row.text(branch) if branch.has_started else NONE for branch in branches]
    can_be_best = [
        branch.has_completed and not (row.name == COST and branch.cost.unpriced) for branch in branches
    ]
    best_indexes = best(
        [value if allowed else None for value, allowed in zip(values, can_be_best, strict=True)], row.better
    )
    top = max((value for value in values if value), default=0)
    titles = [words(branch.cost) if row.name == COST else "" for branch in branches]
    figures = [
        Figure(text, titles[n], n in best_indexes, round(100 * value / top, 2) if value and top else 0)
        for n, (value, text) in enumerate(zip(values, texts, strict=True))
    ]
    return FigureRow(row.name, figures, row.better, row.tone)
