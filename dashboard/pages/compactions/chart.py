"""Geometry of the chart of context sizes: x in percent, y in pixels, amounts in tokens. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from dashboard.compaction_analysis.payback import Call
from dashboard.rendering.axis_ticks import amounts_up_to

LEFT, RIGHT = 6.0, 100.0
TOP, BOTTOM = 22.0, 174.0
BARS_MAX = 90  # maximum number of bars
BEFORE_MAX = 60  # of them before the compaction
GAP = 0.9  # between two loops, as a share of a bar's slot
FILL = 0.74  # width of a bar, as a share of its slot
LINES = 4
NEAR = 4  # a limit above this multiple of the largest context is not drawn: it would flatten the chart


@dataclass(frozen=True, slots=True)
class Bar:
    """One call: tokens read from the cache and other prompt tokens."""

    call: Call
    number: int  # number of its loop
    x: float
    width: float
    cached_y: float
    cached_height: float
    fresh_y: float
    fresh_height: float

    @property
    def turn(self) -> int:
        """Return its turn, counted from 1."""
        return self.call.ordinal + 1


@dataclass(frozen=True, slots=True)
class Level:
    """A horizontal grid line and its amount."""

    y: float
    tokens: int


@dataclass(frozen=True, slots=True)
class Span:
    """The bars of one loop, named below."""

    number: int
    x1: float
    x2: float

    @property
    def middle(self) -> float:
        return round((self.x1 + self.x2) / 2, 2)

    @property
    def is_wide(self) -> bool:
        return self.x2 - self.x1 > 6


@dataclass(frozen=True, slots=True)
class Chart:
    """The whole chart; the first level is the axis."""

    levels: Sequence[Level]
    bars: Sequence[Bar]
    loops: Sequence[Span]
    drops: Sequence[float]  # x of other compactions
    here: float | None  # x of this compaction
    limit: Level | None
    began: Level | None  # reported size of the context before
    far_limit: int | None  # a limit that is too large to be drawn
    earlier: int  # calls that are not drawn
    later: int

    @property
    def is_left(self) -> bool:
        """Whether the label of this compaction is left of its line."""
        return self.here is not None and self.here > 70


def chart(
    calls: Sequence[Call],
    position: int,
    drops: Sequence[int],
    numbers: Mapping[int, int],
    limit: int | None,
    began: int | None,
) -> Chart | None:
    """Lay out the calls around a compaction; None if no size is known."""
    sized = [call for call in calls if call.prompt is not None]
    if not sized:
        return None
    before = sum(call.event < position for call in sized)
    first = max(0, min(before - BEFORE_MAX, len(sized) - BARS_MAX))
    shown = sized[first : first + BARS_MAX]
    largest = max(*(call.prompt or 0 for call in shown), began or 0, 1)
    is_near = limit is not None and limit <= NEAR * largest
    levels = _levels(max(largest, limit or 0) if is_near else largest)
    scale = (BOTTOM - TOP) / levels[-1].tokens
    bars = _bars(shown, numbers, scale)
    return Chart(
        levels=levels,
        bars=bars,
        loops=_spans(bars),
        drops=[x for drop in drops if drop != position and (x := _between(bars, drop)) is not None],
        here=_between(bars, position, is_required=True),
        limit=_level(limit, scale) if is_near else None,
        began=_level(began, scale),
        far_limit=None if is_near else limit,
        earlier=first,
        later=max(0, len(sized) - first - BARS_MAX),
    )


def _bars(calls: Sequence[Call], numbers: Mapping[int, int], scale: float) -> list[Bar]:
    loops = sum(1 for _ in groupby(calls, key=lambda call: call.loop))
    room = (RIGHT - LEFT) / (len(calls) + GAP * (loops - 1) + 1)
    bars: list[Bar] = []
    x = LEFT + room / 2
    for n, call in enumerate(calls):
        x += room * GAP if n and calls[n - 1].loop != call.loop else 0
        cached, fresh = call.cache_read * scale, call.fresh * scale
        bars.append(
            Bar(
                call=call,
                number=numbers.get(call.loop, 0),
                x=round(x + room * (1 - FILL) / 2, 2),
                width=round(room * FILL, 2),
                cached_y=round(BOTTOM - cached, 2),
                cached_height=round(cached, 2),
                fresh_y=round(BOTTOM - cached - fresh, 2),
                fresh_height=round(max(0.0, fresh - (1 if cached else 0)), 2),
            )
        )
        x += room
    return bars


def _spans(bars: Sequence[Bar]) -> list[Span]:
    found = []
    for number, group in groupby(bars, key=lambda bar: bar.number):
        members = list(group)
        found.append(Span(number, members[0].x, round(members[-1].x + members[-1].width, 2)))
    return found


def _between(bars: Sequence[Bar], position: int, *, is_required: bool = False) -> float | None:
    """Return the x of a compaction, left of the first bar after it; None outside, unless required."""
    after = next((n for n, bar in enumerate(bars) if bar.call.event > position), None)
    if after is None:
        return round(min(99.5, bars[-1].x + bars[-1].width * 1.2), 2) if is_required else None
    if after == 0:
        return round(LEFT + 0.2, 2) if is_required else None
    end = bars[after - 1].x + bars[after - 1].width
    return round((end + bars[after].x) / 2, 2)


def _levels(highest: int) -> list[Level]:
    amounts = amounts_up_to(highest, LINES)
    rise = (BOTTOM - TOP) / (len(amounts) - 1)
    return [Level(round(BOTTOM - n * rise, 2), amount) for n, amount in enumerate(amounts)]


def _level(tokens: int | None, scale: float) -> Level | None:
    return None if tokens is None else Level(round(BOTTOM - tokens * scale, 2), tokens)
