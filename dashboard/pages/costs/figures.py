"""The figures of the page, put together from pieces of what was spent. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from dashboard.pages.costs.chart import Chart, Name, Series, chart
from dashboard.pages.costs.params import Params, Period
from dashboard.pages.costs.segments import Ledger, ledger
from dashboard.pages.costs.totals import Sum, change, total
from recorder.core.records import Segment

SERIES_MAX = 11  # that have a colour and a line in the readout; the rest is one more
FAILING = 0.04  # of a row's loops, from which on it is said in red
UNASKED = 100_000  # turns
OTHERS = "mute"

Key: TypeAlias = int | str | None  # of a config, session, model or agent
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Piece:
    """What one group of loops spent; in a list for the chart, in one bar."""

    spent: Sum
    bar: int = 0
    segment: Segment = "single"
    config: int | None = None
    agent: str = ""
    session: int = 0  # 0: any but those that are told apart


@dataclass(frozen=True, slots=True)
class Times:
    """How long loops took, in milliseconds."""

    p50: int | None = None
    p95: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    name: Name
    sum: Sum
    times: Times

    @property
    def is_failing(self) -> bool:
        return (self.sum.error_rate or 0) >= FAILING


@dataclass(frozen=True, slots=True)
class Figures:
    """Tiles, chart, table and ledger of one period."""

    asked: Params
    sum: Sum
    before: Sum
    chart: Chart
    rows: tuple[Row, ...]
    more: int  # rows that are not shown and are in the sum
    ledger: Ledger
    sample: str

    @property
    def is_quick_to_check(self) -> bool:
        """Whether its accounts are checked unasked: that reads every turn."""
        return self.sum.turns <= UNASKED

    @property
    def change(self) -> str:
        """Return by how much the cost grew, signed: "+14%"."""
        grown = change(self.sum.cost_nano, self.before.cost_nano)
        return "" if grown is None else f"{grown:+.0%}"


@dataclass(frozen=True, slots=True)
class Grouping:
    """How pieces are told apart; `names` are the rows, in their order."""

    of: Callable[[Piece], Key]
    names: Mapping[Key, Name]
    times: Mapping[Key, Times]
    sample: str  # which loops the times are of


def by_key(pieces: Iterable[Piece], of: Callable[[Piece], K]) -> dict[K, Sum]:
    """Return the sums of pieces, grouped by a key of each."""
    parts: dict[K, list[Sum]] = defaultdict(list)
    for piece in pieces:
        parts[of(piece)].append(piece.spent)
    return {key: total(each) for key, each in parts.items()}


def ranked(sums: Mapping[Key, Sum], count: int) -> list[Key]:
    """Return the keys that get a row, dearest first; those without a price last, by tokens."""
    order = sorted(sums, key=lambda key: (-(sums[key].cost_nano or 0), -sums[key].tokens, str(key)))
    return [key for key in order if not sums[key].is_nothing][:count]


def figures(
    asked: Params, period: Period, pieces: Sequence[Piece], bars: Sequence[Piece], told: Grouping, before: Sum
) -> Figures:
    """Return the figures of a period: `bars` for the chart, `before` of the period before."""
    sums = by_key(pieces, told.of)
    nanos: dict[tuple[Key, int], int] = defaultdict(int)
    for piece in bars:
        nanos[told.of(piece), piece.bar] += piece.spent.cost_nano or 0
    rows = [
        Row(name, sums[key], told.times.get(key, Times()))
        for key, name in told.names.items()
        if key in sums and not sums[key].is_nothing
    ]
    return Figures(
        asked=asked,
        sum=total(sums.values()),
        before=before,
        chart=chart(period, _series(period, nanos, told.names)),
        rows=tuple(rows),
        more=len(sums) - len(rows),
        ledger=ledger(by_key(pieces, lambda piece: piece.segment)),
        sample=told.sample,
    )


def _series(period: Period, nanos: Mapping[tuple[Key, int], int], names: Mapping[Key, Name]) -> list[Series]:
    """Return one series for each of the first names; whatever is left is one more."""
    told = {key: name for key, name in list(names.items())[:SERIES_MAX] if name.css != OTHERS}
    left = [0] * period.count
    for (key, bar), nano in nanos.items():
        if key not in told:
            left[bar] += nano
    shown = [
        Series(name, tuple(nanos.get((key, bar), 0) for bar in range(period.count)))
        for key, name in told.items()
    ]
    return [*shown, Series(Name("others", OTHERS), tuple(left))]
