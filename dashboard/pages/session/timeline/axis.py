"""A time axis from 0 to 100 percent on which idle time is folded, and paths of spans drawn on it. Pure.

The union of all spans is the busy time. Pauses longer than FOLD get GAP percent each (less if there are many,
so that they never take more than half); the rest of the axis is linear in time. Invariant: positions are
monotonic in time, from 0 to 100. Cost: O(n log n) to build an axis of n spans, O(log n) to look up a moment.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from dashboard.rendering.axis_ticks import Segment, TimeTick, time_ticks

FOLD = timedelta(minutes=1)
GAP = 3.0
LEAST = 0.25  # percent: minimum visible width


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A start and an end time."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the axis with a constant scale; a folded stretch is a pause."""

    start: datetime
    end: datetime
    x: float
    width: float
    is_folded: bool = False

    @property
    def length(self) -> timedelta:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Axis:
    """Consecutive stretches from 0 to 100 percent."""

    stretches: Sequence[Stretch]

    @property
    def start(self) -> datetime:
        return self.stretches[0].start

    @property
    def end(self) -> datetime:
        return self.stretches[-1].end

    @property
    def gaps(self) -> list[Stretch]:
        return [part for part in self.stretches if part.is_folded]

    def at(self, moment: datetime) -> float:
        """Return the position of a moment in percent; moments outside are clamped to the ends."""
        index = bisect_right(self.stretches, moment, key=lambda part: part.start) - 1
        stretch = self.stretches[max(index, 0)]
        if not stretch.length:
            return stretch.x
        share = (moment - stretch.start) / stretch.length
        return stretch.x + stretch.width * min(max(share, 0.0), 1.0)

    def moment(self, x: float) -> datetime:
        """Return the moment at a position in percent."""
        stretch = next((part for part in self.stretches if x <= part.x + part.width), self.stretches[-1])
        share = (x - stretch.x) / stretch.width if stretch.width else 0.0
        return stretch.start + stretch.length * min(max(share, 0.0), 1.0)

    def ticks(self, zero: datetime) -> list[TimeTick]:
        """Return the ticks at round times since `zero`; folded time has none."""
        return time_ticks(
            [
                Segment(
                    (part.start - zero).total_seconds(),
                    (part.end - zero).total_seconds(),
                    part.x,
                    part.x + part.width,
                )
                for part in self.stretches
                if not part.is_folded
            ],
            100.0,
        )


def axis(spans: Iterable[Span], *, window: Span | None = None, folds: bool = True) -> Axis | None:
    """Return the axis for spans, or for the part of them within `window`; None without spans."""
    busy = _union(spans if window is None else _within(spans, window))
    if not busy:
        return None
    parts: list[tuple[Span, bool]] = []
    for span in busy:
        if parts and span.start > parts[-1][0].end:
            pause = Span(parts[-1][0].end, span.start)
            parts.append((pause, folds and pause.end - pause.start > FOLD))
        parts.append((span, False))
    return Axis(_stretches(parts))


def _stretches(parts: Sequence[tuple[Span, bool]]) -> list[Stretch]:
    seconds = [0.0 if folded else (span.end - span.start).total_seconds() for span, folded in parts]
    folded = sum(folded for _, folded in parts)
    gap = min(GAP, 50 / folded) if folded else 0.0
    unit = (100 - gap * folded) / sum(seconds) if sum(seconds) else 0.0
    stretches, x = [], 0.0
    for (span, is_folded), length in zip(parts, seconds, strict=True):
        width = gap if is_folded else length * unit
        stretches.append(Stretch(span.start, span.end, x, width, is_folded))
        x += width
    return stretches


def _within(spans: Iterable[Span], window: Span) -> list[Span]:
    clipped = (Span(max(span.start, window.start), min(span.end, window.end)) for span in spans)
    return [span for span in clipped if span.end >= span.start]


def _union(spans: Iterable[Span]) -> list[Span]:
    union: list[Span] = []
    for span in sorted(spans):
        if span.end < span.start:
            continue
        if union and span.start <= union[-1].end:
            union[-1] = Span(union[-1].start, max(union[-1].end, span.end))
        else:
            union.append(span)
    return union


def path(spans: Iterable[Span], on: Axis, *, y: float, height: float, least: float = LEAST) -> str:
    """Return spans as one SVG path, ten units per percent; spans closer than `least` percent are merged."""
    drawn: list[list[float]] = []
    for span in sorted(span for span in spans if _is_visible(span, on)):
        left, right = on.at(span.start), on.at(span.end)
        if drawn and left - drawn[-1][1] < least:
            drawn[-1][1] = max(drawn[-1][1], right)
        else:
            drawn.append([left, right])
    return "".join(_box(left, max(right - left, LEAST), y, height) for left, right in drawn)


def _is_visible(span: Span, on: Axis) -> bool:
    """Return whether a span overlaps the axis; touching an end counts only for spans without length."""
    return (
        span.start <= on.end
        and span.end >= on.start
        and (span.start == span.end or (span.start < on.end and span.end > on.start))
    )


def _box(left: float, width: float, y: float, height: float) -> str:
    return f"M{left * 10:.2f} {y:g}h{width * 10:.2f}v{height:g}h-{width * 10:.2f}z"
