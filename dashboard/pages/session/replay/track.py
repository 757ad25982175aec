"""Lays out the events of a session on the replay track: positions, ticks, density, bars of loops. Pure.

Positions follow recorded order, not timestamps. The distance of two events is the time between them, limited
to IDLE and never negative, plus a small constant. Invariant: each event is right of the previous one, so a
long pause or a wrong clock takes at most the width of IDLE. Ticks, stops and bars that would overlap are
merged, which bounds the output whatever the number of events. Cost: O(n log n) for n events and loops.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise

from dashboard.rendering.axis_ticks import Segment, TimeTick, time_ticks
from dashboard.shared.series_colours import series_class

WIDTH = 1000.0
IDLE = timedelta(minutes=1)
BUCKETS = 120
STOPS = 400  # positions that a pointer can seek to
SHORT = 2  # units between ticks of frequent events
LANES = 3
GRAIN = 3  # units: of loops that start closer together one is drawn
_TOP, _FLOOR = 18.0, 22.0  # of the density: height and baseline
# Top and height of the rare ticks; others are short. An outlier is a point above the density, drawn as a dot.
_TICKS = dict.fromkeys(("error", "approval", "compaction", "winner", "loop"), "38v12") | {"outlier": "0h0"}


@dataclass(frozen=True, slots=True)
class TrackEvent:
    """One event; `kind` is the kind of its tick, "" for none."""

    event: int
    at: datetime
    kind: str = ""


@dataclass(frozen=True, slots=True)
class LoopSpan:
    """A loop from its first to its last event; `until` is None while it runs.

    `changes` are the first events of turns that another config answered than the turn before, each with its
    colour; `slot` is the colour until the first.
    """

    since: int
    until: int | None
    slot: int
    is_lost: bool = False
    changes: Sequence[tuple[int, int]] = ()

    @property
    def stretches(self) -> Sequence[tuple[int, int | None, int]]:
        """Return the stretches of one colour: first event, first event after it, colour."""
        starts = [(self.since, self.slot), *self.changes]
        ends = [*(event for event, _ in self.changes), self.until]
        return [(event, end, slot) for (event, slot), end in zip(starts, ends, strict=True)]


@dataclass(frozen=True, slots=True)
class Bar:
    """The drawn bar of one or several loops."""

    css: str
    x: float
    y: int
    width: float


@dataclass(frozen=True, slots=True)
class Stop:
    """A position that can be sought."""

    event: int
    x: float
    seconds: float  # since the start of the session


@dataclass(frozen=True, slots=True)
class Layout:
    """The drawing of the track."""

    density: str
    bars: Sequence[Bar]
    ticks: Sequence[tuple[str, str]]  # kind and SVG path
    stops: Sequence[Stop]
    time_ticks: Sequence[TimeTick]  # x in percent

    @property
    def seek_data(self) -> str:
        """Return the stops in the format of the page's script: event:x:seconds, separated by spaces."""
        return " ".join(f"{stop.event}:{stop.x}:{stop.seconds:.1f}" for stop in self.stops)


def layout(events: Sequence[TrackEvent], loops: Iterable[LoopSpan]) -> Layout:
    """Lay out a session's events, oldest first."""
    x = positions([event.at for event in events])
    chosen = _chosen(events)
    stops = _stops(events, x, chosen)
    times = _time_ticks(events, stops, chosen)
    return Layout(_density(x), _bars(events, x, loops), _ticks(events, x), stops, times)


def positions(times: Sequence[datetime]) -> list[float]:
    """Return the positions of events, strictly increasing from 0 to WIDTH."""
    steps = [min(max(after - before, timedelta()), IDLE).total_seconds() for before, after in pairwise(times)]
    least = max(sum(steps) / (20 * max(len(steps), 1)), 0.001)
    whole = sum(steps) + least * len(steps) or 1.0
    x_of_events, x = [0.0] * min(len(times), 1), 0.0
    for step in steps:
        x += step + least
        x_of_events.append(min(WIDTH * x / whole, WIDTH))
    return x_of_events


def _density(x: Sequence[float]) -> str:
    size = WIDTH / BUCKETS
    counts = Counter(min(int(position / size), BUCKETS - 1) for position in x)
    most = max(counts.values(), default=1)
    heights = {bucket: 1 + (_TOP - 1) * number / most for bucket, number in sorted(counts.items())}
    return "".join(
        f"M{bucket * size:.1f} {_FLOOR:g}v-{height:.1f}h6.6v{height:.1f}z"
        for bucket, height in heights.items()
    )


def _bars(events: Sequence[TrackEvent], x: Sequence[float], loops: Iterable[LoopSpan]) -> list[Bar]:
    """Return the bars of loops in LANES lanes.

    Bars too close to distinguish are merged, which bounds their number.
    """
    ids = [event.event for event in events]
    bars: list[Bar] = []
    ends = [0.0] * LANES  # where the last loop of each ended
    last: list[int | None] = [None] * LANES  # its bar
    for loop in sorted(loops, key=lambda loop: loop.since):
        start = _position(ids, x, loop.since)
        end = WIDTH if loop.until is None else _position(ids, x, loop.until)
        lane = next((n for n, ended in enumerate(ends) if ended <= start), LANES - 1)
        ends[lane] = max(end, ends[lane])
        for first, after, slot in loop.stretches:
            start = _position(ids, x, first)
            end = WIDTH if after is None else _position(ids, x, after)
            css = f"{series_class(slot)}{' is-dimmed' if loop.is_lost else ''}"
            bar = Bar(css, round(min(start, WIDTH - 2), 1), 24 + 4 * lane, round(max(end - start, 2), 1))
            before = last[lane]
            one = None if before is None else _merge(bars[before], bar)
            if before is not None and one is not None:
                bars[before] = one
            else:
                last[lane] = len(bars)
                bars.append(bar)
    return bars


def _merge(before: Bar, bar: Bar) -> Bar | None:
    """Merge two bars of a lane: adjacent bars of one colour, or the longer of two that start together."""
    if bar.css == before.css and bar.x <= before.x + before.width + 1:
        end = max(before.x + before.width, bar.x + bar.width)
        return replace(before, width=round(end - before.x, 1))
    if bar.x < before.x + GRAIN:
        return replace(max(before, bar, key=lambda bar: bar.width), x=before.x)
    return None


def _position(ids: Sequence[int], x: Sequence[float], event: int) -> float:
    at = bisect_left(ids, event)
    return x[min(at, len(x) - 1)] if x else 0.0


def _ticks(events: Sequence[TrackEvent], x: Sequence[float]) -> list[tuple[str, str]]:
    """Return one path per kind; ticks at the same position are drawn once."""
    drawn: dict[str, dict[str, None]] = {}
    for event, at in zip(events, x, strict=True):
        if event.kind:
            tick_x = round(at) if event.kind in _TICKS else SHORT * round(at / SHORT)
            drawn.setdefault(event.kind, {})[f"M{tick_x} {_TICKS.get(event.kind, '44v6')}"] = None
    ordered = sorted(drawn.items(), key=lambda item: item[0] in _TICKS)
    return [(kind, "".join(path)) for kind, path in ordered]


def _chosen(events: Sequence[TrackEvent]) -> list[int]:
    """Return the indexes of about STOPS events evenly spread, preferring those with a tick, and the last."""
    marked = [n for n, event in enumerate(events) if event.kind]
    rest = [n for n, event in enumerate(events) if not event.kind]
    chosen = set(_sample(marked, STOPS)) | set(_sample(rest, max(STOPS - len(marked), 0)))
    return sorted(chosen | ({len(events) - 1} if events else set()))


def _stops(events: Sequence[TrackEvent], x: Sequence[float], chosen: Sequence[int]) -> list[Stop]:
    return [
        Stop(events[n].event, round(x[n], 1), max((events[n].at - events[0].at).total_seconds(), 0))
        for n in chosen
    ]


def _sample(numbers: Sequence[int], most: int) -> Sequence[int]:
    return numbers[:: -(-len(numbers) // most)] if most and numbers else ()


def _time_ticks(events: Sequence[TrackEvent], stops: Sequence[Stop], chosen: Sequence[int]) -> list[TimeTick]:
    """Return ticks at round times, in percent of the width, where time runs on from stop to stop.

    There are none between two stops with a pause longer than IDLE, and none where a clock went back.
    """
    pauses = [n for n, (one, other) in enumerate(pairwise(events)) if other.at - one.at > IDLE]
    segments = [
        Segment(stop.seconds, following.seconds, 100 * stop.x / WIDTH, 100 * following.x / WIDTH)
        for (stop, following), (n, m) in zip(pairwise(stops), pairwise(chosen), strict=True)
        if stop.seconds <= following.seconds and bisect_left(pauses, n) == bisect_left(pauses, m)
    ]
    return time_ticks(segments, 100.0)
