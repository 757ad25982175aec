"""Figures of the costs page, computed from usage rows. Pure.

A `UsageRow` is one group of an aggregate query: totals with the keys they were grouped by. `figures` sums the
rows by the selected grouping (table), by bar (chart) and by segment (ledger).
Invariant: all groups of the table, shown or not, all bars of the chart and all entries of the ledger add up
to the same cost. Cost: one pass over the usage rows for each of the three.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from dashboard.pages.costs.chart import Chart, Name, Series, chart
from dashboard.pages.costs.params import CostsParams, Period
from dashboard.pages.costs.segments import Ledger, ledger
from dashboard.pages.costs.totals import UsageTotals, change, total
from dashboard.shared.series_colours import OTHERS
from recorder.core.records import Segment

SERIES_MAX = 8  # series with a colour and a readout row of their own; the rest is one more series
FAILING_SHARE = 0.04  # share of failed loops from which a row is highlighted
AUTO_CHECK_MAX_TURNS = 100_000  # totals of a larger period are checked only on request

Key: TypeAlias = int | str | None  # of a config, session, model or agent
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class UsageRow:
    """Usage of one group of loops; for the chart, within one bar."""

    usage: UsageTotals
    bar: int = 0
    segment: Segment = "single"
    config: int | None = None
    agent: str = ""
    session: int = 0  # 0: all sessions without a row of their own


@dataclass(frozen=True, slots=True)
class Times:
    """Percentiles of loop durations, in milliseconds."""

    p50: int | None = None
    p95: int | None = None


@dataclass(frozen=True, slots=True)
class CostRow:
    """One row of the table."""

    name: Name
    sum: UsageTotals
    times: Times

    @property
    def is_failing(self) -> bool:
        return (self.sum.error_rate or 0) >= FAILING_SHARE


_VALUES: Mapping[str, Callable[[CostRow], float | None]] = {
    "loops": lambda row: row.sum.loops,
    "turns": lambda row: row.sum.turns,
    "input": lambda row: row.sum.uncached_tokens,
    "output": lambda row: row.sum.visible_tokens,
    "reasoning": lambda row: row.sum.reasoning_tokens,
    "read": lambda row: row.sum.cache_read_tokens,
    "write": lambda row: row.sum.cache_write_tokens,
    "hits": lambda row: row.sum.hit_rate,
    "cost": lambda row: row.sum.cost_nano,
    "each": lambda row: row.sum.per_loop,
    "p50": lambda row: row.times.p50,
    "p95": lambda row: row.times.p95,
    "failed": lambda row: row.sum.error_rate,
}  # of a row, by the column that sorts by it


def in_order(rows: Sequence[CostRow], sort: str) -> list[CostRow]:
    """Return rows in the order of an address; unknown values are last. Equal rows keep their order."""
    descends, name = sort.startswith("-"), sort.removeprefix("-")
    if name == "name":
        return sorted(rows, key=lambda row: row.name.label.casefold(), reverse=descends)
    valued = [(value, row) for row in rows if (value := _VALUES[name](row)) is not None]
    valued.sort(key=lambda pair: -pair[0] if descends else pair[0])
    return [row for _, row in valued] + [row for row in rows if _VALUES[name](row) is None]


@dataclass(frozen=True, slots=True)
class Figures:
    """Tiles, chart, table and ledger of one period."""

    params: CostsParams
    sum: UsageTotals
    before: UsageTotals
    chart: Chart
    rows: tuple[CostRow, ...]
    more: int  # rows that are not shown but are included in the sum
    ledger: Ledger
    sample: str

    @property
    def is_quick_to_check(self) -> bool:
        """Whether totals are checked automatically; the check reads every turn of the period."""
        return self.sum.turns <= AUTO_CHECK_MAX_TURNS

    @property
    def change(self) -> str:
        """Return the change of cost since the period before, signed: "+14%"; "" if unknown or below 0.5%."""
        growth = change(self.sum.cost_nano, self.before.cost_nano)
        signed = "" if growth is None else f"{growth:+.0%}"
        return "" if signed in ("+0%", "-0%") else signed.replace("-", "\N{MINUS SIGN}")


@dataclass(frozen=True, slots=True)
class Grouping:
    """A way to group usage rows; `names` are the table rows, in order."""

    of: Callable[[UsageRow], Key]
    names: Mapping[Key, Name]
    times: Mapping[Key, Times]
    sample: str  # the loops that `times` cover


def by_key(usage_rows: Iterable[UsageRow], of: Callable[[UsageRow], K]) -> dict[K, UsageTotals]:
    """Return the totals of usage rows, grouped by the key that `of` returns."""
    parts: dict[K, list[UsageTotals]] = defaultdict(list)
    for usage_row in usage_rows:
        parts[of(usage_row)].append(usage_row.usage)
    return {key: total(sums) for key, sums in parts.items()}


def ranked(sums: Mapping[Key, UsageTotals], count: int) -> list[Key]:
    """Return the `count` keys that get a row, most expensive first; unpriced ones last, by tokens."""
    order = sorted(sums, key=lambda key: (-(sums[key].cost_nano or 0), -sums[key].tokens, str(key)))
    return [key for key in order if not sums[key].is_nothing][:count]


def figures(
    params: CostsParams,
    period: Period,
    usage_rows: Sequence[UsageRow],
    bars: Sequence[UsageRow],
    grouping: Grouping,
    before: UsageTotals,
) -> Figures:
    """Return the figures of a period; `before` are the totals of the period before it."""
    sums = by_key(usage_rows, grouping.of)
    nanos: dict[tuple[Key, int], int] = defaultdict(int)
    for usage_row in bars:
        nanos[grouping.of(usage_row), usage_row.bar] += usage_row.usage.cost_nano or 0
    rows = [
        CostRow(name, sums[key], grouping.times.get(key, Times()))
        for key, name in grouping.names.items()
        if key in sums and not sums[key].is_nothing
    ]
    return Figures(
        params=params,
        sum=total(sums.values()),
        before=before,
        chart=chart(period, _series(period, nanos, grouping.names)),
        rows=tuple(in_order(rows, params.sort)),
        more=sum(not usage.is_nothing for usage in sums.values()) - len(rows),
        ledger=ledger(by_key(usage_rows, lambda usage_row: usage_row.segment)),
        sample=grouping.sample,
    )


def _series(period: Period, nanos: Mapping[tuple[Key, int], int], names: Mapping[Key, Name]) -> list[Series]:
    """Return one series for each of the first names, and one for everything else."""
    named = {key: name for key, name in list(names.items())[:SERIES_MAX] if name.css != OTHERS}
    others = [0] * period.count
    for (key, bar), nano in nanos.items():
        if key not in named:
            others[bar] += nano
    shown = [
        Series(name, tuple(nanos.get((key, bar), 0) for bar in range(period.count)))
        for key, name in named.items()
    ]
    return [*shown, Series(Name("others", OTHERS), tuple(others))]
