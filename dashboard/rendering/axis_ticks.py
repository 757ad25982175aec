"""Round ticks of chart axes. Pure.

Amounts step by 1, 2 or 5 times a power of ten. Times step by 1, 2, 5, 10, 15 or 30 seconds or minutes, by 1,
2, 3, 6 or 12 hours, and by days and parts of a second as amounts do. Invariant: every tick is a multiple of
its axis' step; on a logarithmic axis of a decade or more it is 1, 2 or 5 times a power of ten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import ceil, floor, log10

SECOND = 1_000_000  # in microseconds
MINUTE, HOUR, DAY = 60 * SECOND, 3_600 * SECOND, 86_400 * SECOND
TIME_STEPS = (
    *(n * SECOND for n in (1, 2, 5, 10, 15, 30)),
    *(n * MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * HOUR for n in (1, 2, 3, 6, 12)),
    DAY,
)
TIME_TICKS = 6  # aimed at on a time axis
APART = 0.09  # least distance of two ticks of a time axis, as a share of its width
FEW = 3  # ticks below which a logarithmic axis has even steps instead


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a time axis with one scale: seconds since zero, and positions."""

    start: float
    end: float
    x1: float
    x2: float


@dataclass(frozen=True, slots=True)
class TimeTick:
    """A tick of a time axis: its position, and the time since zero."""

    x: float
    time: timedelta


def amount_step(least: float) -> int:
    """Return the smallest 1, 2 or 5 times a power of ten that is at least `least`, and at least 1."""
    whole = max(ceil(least), 1)
    power = int(10 ** (len(str(whole)) - 1))
    return next(n * power for n in (1, 2, 5, 10) if n * power >= whole)


def time_step(least: float) -> int:
    """Return the smallest round time that is at least `least`, and at least 1, in microseconds."""
    if least <= SECOND:
        return amount_step(least)
    return next((step for step in TIME_STEPS if step >= least), DAY * amount_step(least / DAY))


def amounts_up_to(highest: int, most: int) -> list[int]:
    """Return the ticks from 0 to the first at or above `highest`: at most `most` steps, at least one."""
    step = amount_step(highest / most)
    return [n * step for n in range(max(1, -(-highest // step)) + 1)]


def amounts_within(low: float, high: float, most: int) -> list[int]:
    """Return the ticks from `low` to `high`, at most `most` and one."""
    step = amount_step((high - low) / most)
    return [n * step for n in range(ceil(low / step), floor(high / step) + 1)]


def logarithmic_amounts(low: float, high: float, most: int) -> list[int]:
    """Return at most `most` ticks of a logarithmic axis: 1, 2, 5 of each decade, then decades.

    A range that holds few of them has even steps. Both ends are positive; ticks are at least 1.
    """
    decades = range(max(floor(log10(low)), 0), max(ceil(log10(high)), 0) + 1)
    fine = [n * 10**decade for decade in decades for n in (1, 2, 5) if low <= n * 10**decade <= high]
    if len(fine) < FEW:
        even = amounts_within(low, high, most - 1)
        return [tick for tick in even if tick] or fine
    if len(fine) <= most:
        return fine
    coarse = [10**decade for decade in decades if low <= 10**decade <= high]
    return coarse[:: ceil(len(coarse) / most) or 1]


def time_ticks(segments: Sequence[Segment], width: float) -> list[TimeTick]:
    """Return the ticks of a time axis of this width, whose segments are in the order of their positions.

    Time between two segments is folded and has none. The step is refined until two ticks are drawn, as all
    segments may be shorter than the first step. Cost: linear in the number of segments for each step tried.
    """
    shown = sum(segment.end - segment.start for segment in segments) * SECOND
    step = time_step(shown / TIME_TICKS)
    found = _multiples(segments, step, width)
    while len(found) < 2 and step > 1 and shown:
        step = _finer(step)
        found = _multiples(segments, step, width)
    return found


def _multiples(segments: Sequence[Segment], step: int, width: float) -> list[TimeTick]:
    """Return the multiples of `step` microseconds inside the segments, without those too near to the last."""
    found: list[TimeTick] = []
    for segment in segments:
        start, end = round(segment.start * SECOND), round(segment.end * SECOND)
        for n in range(-(-start // step), end // step + 1):
            share = (n * step - start) / (end - start) if end > start else 0.0
            tick = TimeTick(segment.x1 + share * (segment.x2 - segment.x1), timedelta(microseconds=n * step))
            last = found[-1] if found else None
            if not last or (tick.time > last.time and tick.x - last.x >= APART * width):
                found.append(tick)
    return found


def _finer(step: int) -> int:
    """Return the largest round time below `step` microseconds; 1 stays."""
    if DAY >= step > SECOND:
        return max(each for each in TIME_STEPS if each < step)
    unit = DAY if step > DAY else 1
    power = int(10 ** (len(str(step // unit)) - 1))
    digit = step // unit // power
    return unit * (digit // 2 * power if digit > 1 else max(power // 2, 1))
