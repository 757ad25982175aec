"""The figures of branches side by side, and which is the best of each row. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from dashboard.rendering.number_format import NONE, duration, exact, money, percent, tokens
from dashboard.shared.costs import Spent, words
from dashboard.shared.usage_bar import Kind

COST = "Cost"

Better = Literal["less", "more", ""]


@dataclass(frozen=True, slots=True)
class Figures:
    """What one branch used and did."""

    has_started: bool
    has_completed: bool
    duration_ms: int | None
    cost: Spent
    kinds: Sequence[Kind]
    turns: int
    tool_calls: int
    failed_tools: int

    @property
    def tokens(self) -> int:
        return sum(kind.count for kind in self.kinds)

    @property
    def cache_hits(self) -> float | None:
        """Return which share of what was sent came from the cache."""
        read, sent, written = (kind.count for kind in self.kinds[:3])
        return read / (read + sent + written) if read + sent + written else None


@dataclass(frozen=True, slots=True)
class _Row:
    """How one figure is read and written."""

    name: str
    value: Callable[[Figures], float | None]
    text: Callable[[Figures], str]
    better: Better = "less"
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """One branch's figure; `share` of the row's largest, in percent, is the length of its bar."""

    text: str
    title: str
    is_best: bool
    share: float


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of every branch."""

    name: str
    figures: Sequence[Figure]
    better: Better
    tone: str

    @property
    def hint(self) -> str:
        return f"{self.better.capitalize()} is better" if self.better else ""


def results(branches: Sequence[Figures]) -> list[Row]:
    """Return the rows. A branch that did not start has no figures; only one that completed can be best."""
    return [_row(branches, row) for row in _rows(branches)]


def best(values: Sequence[float | None], better: Better) -> set[int]:
    """Return the places of the best values; where all are alike, or there is only one, none is."""
    known = {value for value in values if value is not None}
    if not better or len(known) <= 1:
        return set()
    top = min(known) if better == "less" else max(known)
    return {n for n, value in enumerate(values) if value == top}


def _rows(branches: Sequence[Figures]) -> Iterator[_Row]:
    yield _Row(COST, lambda one: one.cost.cost_nano, lambda one: money(one.cost.cost_nano, one.cost.unpriced))
    yield _Row("Latency", lambda one: one.duration_ms, lambda one: duration(one.duration_ms))
    yield _Row("Tokens", lambda one: one.tokens, lambda one: tokens(one.tokens))
    for n, kind in enumerate(branches[0].kinds if branches else ()):
        yield _bucket(n, kind)
    yield _Row("Cache hits", lambda one: one.cache_hits, lambda one: percent(one.cache_hits), "more", "u-cr")
    yield _Row("Turns", lambda one: one.turns, lambda one: exact(one.turns))
    yield _Row("Tool calls", lambda one: one.tool_calls, lambda one: exact(one.tool_calls))
    yield _Row(
        "Failed tools", lambda one: one.failed_tools, lambda one: exact(one.failed_tools), tone="k-err"
    )


def _bucket(n: int, kind: Kind) -> _Row:
    return _Row(
        kind.name.capitalize(),
        lambda one: one.kinds[n].count,
        lambda one: tokens(one.kinds[n].count),
        "" if kind.css == "u-cr" else "less",  # much of it is good where it replaces input
        kind.css,
    )


def _row(branches: Sequence[Figures], row: _Row) -> Row:
    values = [row.value(one) if one.has_started else None for one in branches]
    texts = [row.text(one) if one.has_started else NONE for one in branches]
    whole = [one.has_completed and not (row.name == COST and one.cost.unpriced) for one in branches]
    ahead = best([value if may else None for value, may in zip(values, whole, strict=True)], row.better)
    top = max((value for value in values if value), default=0)
    titles = [words(one.cost) if row.name == COST else "" for one in branches]
    figures = [
        Figure(text, titles[n], n in ahead, round(100 * value / top, 2) if value and top else 0)
        for n, (value, text) in enumerate(zip(values, texts, strict=True))
    ]
    return Row(row.name, figures, row.better, row.tone)
