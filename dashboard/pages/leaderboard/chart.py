"""Geometry of the chart of win rate against cost: x in percent, y in pixels. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, log10

from dashboard.rendering.axis_ticks import amounts_within, logarithmic_amounts
from dashboard.rendering.number_format import round_money
from dashboard.shared.standings.statistics import Interval, frontier

LEFT, RIGHT = 6.0, 98.0
TOP, BOTTOM = 14.0, 264.0
ROOM = 0.08  # share of the width left free beside the outermost points
TURN = 55.0  # right of this x, a label is placed left of its point
LINE, REACH = 13.0, 24.0  # height of a label in pixels, and its length in percent of the width
TICKS_MAX = 7


@dataclass(frozen=True, slots=True)
class Point:
    """One config; `at` is its row in the table."""

    at: int
    nano: int
    rate: float
    interval: Interval
    is_bound: bool = False  # `nano` is a lower bound: some calls have no price


@dataclass(frozen=True, slots=True)
class Mark:
    """A drawn point with its vertical interval and its label."""

    at: int
    x: float
    y: float
    y_high: float
    y_low: float
    is_front: bool
    is_bound: bool
    is_left: bool  # the label is left of the point
    label_y: float

    @property
    def label_start(self) -> float:
        """Return the x at which the label begins, if it has its full length."""
        return self.x - REACH if self.is_left else self.x


@dataclass(frozen=True, slots=True)
class Tick:
    place: float
    value: float  # nano-dollars on the x axis, a rate of 0 to 1 on the y axis

    @property
    def label(self) -> str:
        """Return the amount without trailing zeros: $0.05 $1 $200."""
        return round_money(round(self.value))


@dataclass(frozen=True, slots=True)
class FrontierLine:
    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True, slots=True)
class Chart:
    marks: Sequence[Mark]
    front: Sequence[FrontierLine]
    across: Sequence[Tick]
    upwards: Sequence[Tick]
    is_log: bool


class Scale:
    """Map nano-dollars to percent of the width: logarithmic unless a cost is zero.

    A lower bound of zero says nothing about the cost: it is drawn at the left edge of either scale.
    """

    def __init__(self, points: Sequence[Point]) -> None:
        costs = [point.nano for point in points if point.nano or not point.is_bound] or [0]
        low, high = min(costs), max(costs)
        self.is_log = low > 0
        first, last = (log10(low), log10(high)) if self.is_log else (0.0, float(high or 1))
        if first == last:
            first, last = first - 0.3, last + 0.3
        free = (last - first) * ROOM
        self.first, self.last = (first - free if self.is_log else 0.0), last + free

    def x(self, nano: float) -> float:
        if self.is_log and not nano:
            return LEFT
        value = log10(nano) if self.is_log else nano
        return round(LEFT + (RIGHT - LEFT) * (value - self.first) / (self.last - self.first), 2)

    def ticks(self) -> list[Tick]:
        """Return round amounts inside the scale."""
        if self.is_log:
            values = logarithmic_amounts(10**self.first, 10**self.last, TICKS_MAX)
        else:
            values = amounts_within(0, self.last, TICKS_MAX - 1)
        return [Tick(self.x(value), value) for value in values]


def chart(points: Sequence[Point]) -> Chart | None:
    """Lay out the points; None without any."""
    if not points:
        return None
    scale = Scale(points)
    top = min(1.0, ceil(max(point.interval.high for point in points) * 5 + 0.001) / 5)
    priced = [at for at, point in enumerate(points) if not point.is_bound]
    optimal = frontier([(points[at].nano, points[at].rate) for at in priced])
    front = [priced[at] for at in optimal]
    marks = [_mark(point, scale, top, is_front=at in front) for at, point in enumerate(points)]
    return Chart(
        marks=_apart(marks),
        front=_steps([marks[at] for at in front]),
        across=scale.ticks(),
        upwards=[Tick(_y(n / 5, top), n / 5) for n in range(round(top * 5) + 1)],
        is_log=scale.is_log,
    )


def _y(rate: float, top: float) -> float:
    return round(BOTTOM - (BOTTOM - TOP) * rate / top, 2)


def _mark(point: Point, scale: Scale, top: float, *, is_front: bool) -> Mark:
    x, y = scale.x(point.nano), _y(point.rate, top)
    high, low = _y(point.interval.high, top), _y(point.interval.low, top)
    label_y = round(y - 7, 2)
    return Mark(point.at, x, y, high, low, is_front, point.is_bound, is_left=x > TURN, label_y=label_y)


def _apart(marks: Sequence[Mark]) -> list[Mark]:
    """Move labels down until none overlaps another."""
    placed: list[Mark] = []
    for mark in sorted(marks, key=lambda mark: mark.y):
        moved = mark
        while any(_is_over(moved, other) for other in placed):
            moved = replace(moved, label_y=moved.label_y + LINE)
        placed.append(moved)
    return placed


def _is_over(mark: Mark, other: Mark) -> bool:
    is_near = abs(mark.label_start - other.label_start) < REACH
    return is_near and abs(mark.label_y - other.label_y) < LINE


def _steps(front: Sequence[Mark]) -> list[FrontierLine]:
    """Return the frontier as a step line: the best win rate up to each cost."""
    lines: list[FrontierLine] = []
    for mark, following in pairwise(front):
        lines.append(FrontierLine(mark.x, mark.y, following.x, mark.y))
        lines.append(FrontierLine(following.x, mark.y, following.x, following.y))
    if not front:
        return []
    return [*lines, FrontierLine(front[-1].x, front[-1].y, 100.0, front[-1].y)]
