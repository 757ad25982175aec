"""Geometry of the stacked bar chart: x in percent, y in pixels, amounts in nano-dollars. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from dashboard.pages.costs.params import Period
from dashboard.rendering.axis_ticks import amounts_up_to

TOP, BOTTOM = 10.0, 204.0  # y of the highest line and of the axis, in pixels
GAP = 1.0  # pixels between two parts of a bar
THIN = 0.6  # minimum height of a part, so that a small amount stays visible
LINES = 6  # maximum number of grid lines above the axis
LABELS = 31  # axis labels that fit below a wide chart
LABELS_NARROW = 5


@dataclass(frozen=True, slots=True)
class Name:
    """Label, colour and link of a series."""

    label: str
    css: str
    parameter: str = ""  # the setting that distinguishes configs of the same model
    full: str = ""  # full name, for the title attribute
    href: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """Cost of one series in each bar, in nano-dollars."""

    name: Name
    values: tuple[int, ...]

    @property
    def total(self) -> int:
        return sum(self.values)


@dataclass(frozen=True, slots=True)
class Part:
    """One coloured part of a bar."""

    css: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class ReadoutRow:
    """One row of a bar's readout."""

    series: Series
    nano: int


@dataclass(frozen=True, slots=True)
class Bar:
    """One hour, day or week; `rows` are in the order of `parts`, from the axis up."""

    name: str
    label: str  # axis label; "" where there is no room
    is_always_labelled: bool  # labelled on narrow screens too
    parts: tuple[Part, ...]
    rows: tuple[ReadoutRow, ...]
    total: int

    @property
    def readout(self) -> list[ReadoutRow]:
        """Return the rows from top to bottom."""
        return list(reversed(self.rows))


@dataclass(frozen=True, slots=True)
class GridLine:
    """A horizontal grid line and its amount."""

    y: float
    nano: int


@dataclass(frozen=True, slots=True)
class Chart:
    """The whole chart; the first line is the axis."""

    lines: tuple[GridLine, ...]
    bars: tuple[Bar, ...]
    series: tuple[Series, ...]
    unit: str  # hour, day or week

    @property
    def stacked(self) -> list[Series]:
        """Return the series from top to bottom."""
        return list(reversed(self.series))

    @property
    def total(self) -> int:
        return sum(bar.total for bar in self.bars)


def chart(period: Period, series: Sequence[Series]) -> Chart:
    """Lay out the cost of a period; series are stacked from the axis up in the given order."""
    shown = tuple(item for item in series if item.total)
    heights = [sum(item.values[n] for item in shown) for n in range(period.count)]
    lines = _lines(max(heights, default=0))
    scale = (BOTTOM - TOP) / lines[-1].nano
    bars = tuple(_bar(period, n, shown, scale) for n in range(period.count))
    return Chart(lines, bars, shown, period.unit)


def _lines(highest: int) -> tuple[GridLine, ...]:
    """Return grid lines at round amounts, the last at or above the highest bar."""
    amounts = amounts_up_to(highest, LINES)
    rise = (BOTTOM - TOP) / (len(amounts) - 1)
    return tuple(GridLine(round(BOTTOM - n * rise, 2), amount) for n, amount in enumerate(amounts))


def _bar(period: Period, n: int, series: Sequence[Series], scale: float) -> Bar:
    every = max(ceil(period.count / LABELS), 1)
    narrow = ceil(period.count / LABELS_NARROW)
    return Bar(
        name=_name(period, n),
        label=_label(period, n) if n % every == 0 else "",
        is_always_labelled=n % narrow == 0,
        parts=_parts([(item.name.css, item.values[n]) for item in series], scale),
        rows=tuple(ReadoutRow(item, item.values[n]) for item in series),
        total=sum(item.values[n] for item in series),
    )


def _parts(values: Sequence[tuple[str, int]], scale: float) -> tuple[Part, ...]:
    parts, base = [], BOTTOM
    for css, nano in values:
        if nano <= 0:
            continue
        height = nano * scale
        parts.append(Part(css, round(base - max(height, THIN), 2), round(max(height - GAP, THIN), 2)))
        base -= height
    return tuple(parts)


def _name(period: Period, n: int) -> str:
    start = period.starts[n]
    day = f"{start.day} {start:%b}"
    if period.is_hourly:
        return f"{day} {start:%H:%M}"
    return f"{start:%a} {day}" if period.unit == "day" else f"{period.unit.capitalize()} from {day}"


def _label(period: Period, n: int) -> str:
    start = period.starts[n]
    if period.is_hourly:
        return f"{start:%H:%M}" if n == 0 else f"{start:%H}"
    return f"{start.day} {start:%b}" if n == 0 or start.day == 1 or "week" in period.unit else str(start.day)
