"""Geometry of the chart of losses by day and cause: x in percent, y in pixels. Pure.

Values are nano-dollars, or tokens where no call that lost any has a price.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from math import ceil

from dashboard.pages.context.words import LABELS, css
from dashboard.rendering.axis_ticks import amounts_up_to
from dashboard.shared.ledger_sums.figures import Cause, PeriodLedger
from dashboard.shared.ledger_sums.rows import Loss

TOP, BOTTOM = 10.0, 204.0  # y of the highest line and of the axis, in pixels
GAP, THIN = 1.0, 0.6  # pixels between two parts of a bar, and of the smallest part
LINES, LABELS_WIDE, LABELS_NARROW = 4, 31, 7
BARS_MAX = 92  # a longer period has bars of several days


@dataclass(frozen=True, slots=True)
class Part:
    """One coloured part of a bar."""

    css: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class CauseRow:
    """One cause in a bar's readout."""

    verdict: str
    label: str
    css: str
    loss: Loss


@dataclass(frozen=True, slots=True)
class Bar:
    """The days from `first` to `last`; `rows` are in the order of the causes."""

    first: date
    last: date
    name: str
    label: str  # below the axis; "" where there is no room
    is_always_labelled: bool  # on narrow screens, too
    parts: tuple[Part, ...]
    rows: tuple[CauseRow, ...]
    loss: Loss


@dataclass(frozen=True, slots=True)
class GridLine:
    """A horizontal line at a round amount; the first is the axis."""

    y: float
    value: int


@dataclass(frozen=True, slots=True)
class Chart:
    """The chart of a period; `unit` is day, or the days of a bar."""

    lines: tuple[GridLine, ...]
    bars: tuple[Bar, ...]
    unit: str


def chart(ledger: PeriodLedger) -> Chart:
    """Lay out the losses of a period, the largest cause at the axis."""
    days = ledger.days
    size = ceil(len(days) / BARS_MAX)
    groups = [days[at : at + size] for at in range(0, len(days), size)]
    losses = [[_loss(cause, group) for cause in ledger.causes] for group in groups]
    highest = max((sum(_value(loss, ledger) for loss in found) for found in losses), default=0)
    amounts = amounts_up_to(highest, LINES)
    rise = (BOTTOM - TOP) / (len(amounts) - 1)
    lines = tuple(GridLine(round(BOTTOM - n * rise, 2), amount) for n, amount in enumerate(amounts))
    scale = (BOTTOM - TOP) / lines[-1].value
    lines = lines if highest else lines[:1]  # without a loss there is nothing to scale
    bars = [_bar(ledger, groups, n, losses[n], scale) for n in range(len(groups))]
    return Chart(lines, tuple(bars), "day" if size == 1 else f"{size} days")


def day_words(day: date) -> str:
    """Return a day as it is written on the page: 16 Nov."""
    return f"{day.day} {day:%b}"


def _bar(
    ledger: PeriodLedger, groups: Sequence[Sequence[date]], n: int, losses: Sequence[Loss], scale: float
) -> Bar:
    first, last = groups[n][0], groups[n][-1]
    every, narrow = ceil(len(groups) / LABELS_WIDE), ceil(len(groups) / LABELS_NARROW)
    rows = tuple(
        CauseRow(cause.verdict, LABELS[cause.verdict], css(cause.verdict), loss)
        for cause, loss in zip(ledger.causes, losses, strict=True)
    )
    whole = Loss(*(sum(getattr(loss, name) for loss in losses) for name in ("calls", "tokens", "nano")))
    return Bar(
        first,
        last,
        f"{first:%a} {day_words(first)}" if first == last else f"{day_words(first)} to {day_words(last)}",
        _label(groups, n, every),
        n % narrow == 0,
        _parts([(row.css, _value(row.loss, ledger)) for row in rows], scale),
        rows,
        whole,
    )


def _label(groups: Sequence[Sequence[date]], n: int, every: int) -> str:
    """Return the words below a bar: its day, and the month where one begins, if the first bar leaves room."""
    if n % every:
        return ""
    first = groups[n][0]
    begins = n > 1 and (first.day == 1 or first.month != groups[n - 1][0].month)
    return day_words(first) if n == 0 or begins or len(groups[0]) > 1 else str(first.day)


def _parts(values: Sequence[tuple[str, int]], scale: float) -> tuple[Part, ...]:
    parts, base = [], BOTTOM
    for name, value in values:
        if value <= 0:
            continue
        height = value * scale
        parts.append(Part(name, round(base - max(height, THIN), 2), round(max(height - GAP, THIN), 2)))
        base -= height
    return tuple(parts)


def _loss(cause: Cause, days: Sequence[date]) -> Loss:
    found = [cause.days[day] for day in days if day in cause.days]
    return Loss(*(sum(getattr(loss, name) for loss in found) for name in ("calls", "tokens", "nano")))


def _value(loss: Loss, ledger: PeriodLedger) -> int:
    return loss.nano if ledger.is_loss_priced else loss.tokens
