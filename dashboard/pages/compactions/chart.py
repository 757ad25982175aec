"""The context of each call as SVG geometry: percent across, pixels up, in tokens. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil

from dashboard.compaction_analysis.payback import Call

LEFT, RIGHT = 6.0, 100.0
TOP, BOTTOM = 22.0, 174.0
BARS_MAX = 90  # that fit
BEFORE_MAX = 60  # of them before the pass
GAP = 0.9  # of a bar's room, between two loops
FILL = 0.74  # of its room that a bar takes
LINES = 4
NEAR = 4  # a limit that is farther than this many times the largest context would flatten it
STEPS = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class Bar:
    """One call: what it read from the cache and what was new, or how large it was where nobody knows that."""

    call: Call
    number: int  # of its loop
    x: float
    width: float
    cached_y: float
    cached_height: float
    fresh_y: float
    fresh_height: float

    @property
    def turn(self) -> int:
        """Return its turn as people count."""
        return self.call.ordinal + 1


@dataclass(frozen=True, slots=True)
class Level:
    """A horizontal line and what it stands for."""

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
    drops: Sequence[float]  # where other passes are
    here: float | None  # where this one is
    limit: Level | None
    began: Level | None  # how large the context was, as the pass claims
    far_limit: int | None  # one that does not fit
    earlier: int  # calls that are not drawn
    later: int

    @property
    def is_left(self) -> bool:
        """Say whether the label of this pass stands left of it."""
        return self.here is not None and self.here > 70


def chart(
    calls: Sequence[Call],
    position: int,
    drops: Sequence[int],
    numbers: Mapping[int, int],
    limit: int | None,
    began: int | None,
) -> Chart | None:
    """Draw the calls around a pass; None if there are none whose size is known."""
    known = [call for call in calls if call.prompt is not None]
    if not known:
        return None
    before = sum(call.event < position for call in known)
    first = max(0, min(before - BEFORE_MAX, len(known) - BARS_MAX))
    shown = known[first : first + BARS_MAX]
    largest = max(*(call.prompt or 0 for call in shown), began or 0, 1)
    is_near = limit is not None and limit <= NEAR * largest
    levels = _levels(max(largest, limit or 0) if is_near else largest)
    scale = (BOTTOM - TOP) / levels[-1].tokens
    bars = _bars(shown, numbers, scale)
    return Chart(
        levels=levels,
        bars=bars,
        loops=_spans(bars),
        drops=[x for each in drops if each != position and (x := _between(bars, each)) is not None],
        here=_between(bars, position, is_kept=True),
        limit=_level(limit, scale) if is_near else None,
        began=_level(began, scale),
        far_limit=None if is_near else limit,
        earlier=first,
        later=max(0, len(known) - first - BARS_MAX),
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


def _between(bars: Sequence[Bar], position: int, *, is_kept: bool = False) -> float | None:
    """Return where a pass stands: left of the first bar after it; None outside, unless it must be shown."""
    after = next((n for n, bar in enumerate(bars) if bar.call.event > position), None)
    if after is None:
        return round(min(99.5, bars[-1].x + bars[-1].width * 1.2), 2) if is_kept else None
    if after == 0:
        return round(LEFT + 0.2, 2) if is_kept else None
    end = bars[after - 1].x + bars[after - 1].width
    return round((end + bars[after].x) / 2, 2)


def _levels(highest: int) -> list[Level]:
    step = _round_up(ceil(highest / LINES))
    count = max(1, ceil(highest / step))
    rise = (BOTTOM - TOP) / count
    return [Level(round(BOTTOM - n * rise, 2), n * step) for n in range(count + 1)]


def _round_up(least: int) -> int:
    power = int(10 ** (len(str(least)) - 1))
    return next(step * power for step in (*STEPS, 10) if step * power >= least)


def _level(tokens: int | None, scale: float) -> Level | None:
    return None if tokens is None else Level(round(BOTTOM - tokens * scale, 2), tokens)
