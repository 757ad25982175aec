"""Events on a line: where each stands, what marks it, how dense they are, which loop ran. Pure geometry.

Recording order decides: an event never stands left of the one before it. Time only spaces them, and idle time
beyond a minute counts as a minute, so neither a night nor a clock that is wrong takes the line for itself.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise

WIDTH = 1000.0
IDLE = timedelta(minutes=1)
BUCKETS = 120
STOPS = 400  # places that a pointer can seek
SHORT = 2  # units between ticks of what happens all the time
LANES = 3
GRAIN = 3  # units: of loops that begin so near each other one is drawn
LABELS = 6
_TOP, _FLOOR = 18.0, 22.0  # of the density: its height and where it stands
_TALL = {"error", "approval", "compaction", "winner", "loop"}


@dataclass(frozen=True, slots=True)
class Told:
    """One event; `kind` is what its tick is called, "" for none."""

    event: int
    at: datetime
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Ran:
    """A loop from its first event to its last; without `until` it runs."""

    since: int
    until: int | None
    slot: int
    is_lost: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """A loop as it is drawn."""

    css: str
    x: float
    y: int
    width: float


@dataclass(frozen=True, slots=True)
class Stop:
    """A place that can be sought."""

    event: int
    x: float
    seconds: float  # since the session began


@dataclass(frozen=True, slots=True)
class Course:
    """All that the line shows."""

    density: str
    bars: Sequence[Bar]
    ticks: Sequence[tuple[str, str]]  # a path of each kind
    stops: Sequence[Stop]
    labels: Sequence[timedelta]

    @property
    def sought(self) -> str:
        """Return the stops as the page's script reads them."""
        return " ".join(f"{stop.event}:{stop.x}:{stop.seconds:.1f}" for stop in self.stops)


def course(told: Sequence[Told], ran: Iterable[Ran]) -> Course:
    """Lay out a session's events, oldest first."""
    x = places([each.at for each in told])
    return Course(_density(x), _bars(told, x, ran), _ticks(told, x), _stops(told, x), _labels(told, x))


def places(times: Sequence[datetime]) -> list[float]:
    """Return where events stand, from 0 to WIDTH, each right of the one before it."""
    steps = [min(max(after - before, timedelta()), IDLE).total_seconds() for before, after in pairwise(times)]
    least = max(sum(steps) / (20 * max(len(steps), 1)), 0.001)
    whole = sum(steps) + least * len(steps) or 1.0
    found, x = [0.0] * min(len(times), 1), 0.0
    for step in steps:
        x += step + least
        found.append(min(WIDTH * x / whole, WIDTH))
    return found


def _density(x: Sequence[float]) -> str:
    size = WIDTH / BUCKETS
    counts = Counter(min(int(each / size), BUCKETS - 1) for each in x)
    most = max(counts.values(), default=1)
    heights = {bucket: 1 + (_TOP - 1) * number / most for bucket, number in sorted(counts.items())}
    return "".join(
        f"M{bucket * size:.1f} {_FLOOR:g}v-{height:.1f}h6.6v{height:.1f}z"
        for bucket, height in heights.items()
    )


def _bars(told: Sequence[Told], x: Sequence[float], ran: Iterable[Ran]) -> list[Bar]:
    """Return the loops in lanes. What cannot be told apart is one bar: so there are never many."""
    events = [each.event for each in told]
    bars: list[Bar] = []
    ends = [0.0] * LANES  # where the last loop of each ended
    last: list[int | None] = [None] * LANES  # its bar
    for loop in sorted(ran, key=lambda loop: loop.since):
        start = _place(events, x, loop.since)
        end = WIDTH if loop.until is None else _place(events, x, loop.until)
        css = f"config-{loop.slot}{' is-dimmed' if loop.is_lost else ''}"
        lane = next((n for n, ended in enumerate(ends) if ended <= start), LANES - 1)
        ends[lane] = max(end, ends[lane])
        bar = Bar(css, round(min(start, WIDTH - 2), 1), 24 + 4 * lane, round(max(end - start, 2), 1))
        before = last[lane]
        one = None if before is None else _as_one(bars[before], bar)
        if before is not None and one is not None:
            bars[before] = one
        else:
            last[lane] = len(bars)
            bars.append(bar)
    return bars


def _as_one(before: Bar, bar: Bar) -> Bar | None:
    """Return two bars of a lane as one: a colour that goes on, or the longer of what begins together."""
    if bar.css == before.css and bar.x <= before.x + before.width + 1:
        end = max(before.x + before.width, bar.x + bar.width)
        return replace(before, width=round(end - before.x, 1))
    if bar.x < before.x + GRAIN:
        return replace(max(before, bar, key=lambda each: each.width), x=before.x)
    return None


def _place(events: Sequence[int], x: Sequence[float], event: int) -> float:
    at = bisect_left(events, event)
    return x[min(at, len(x) - 1)] if x else 0.0


def _ticks(told: Sequence[Told], x: Sequence[float]) -> list[tuple[str, str]]:
    """Return one path of each kind; of ticks that would hide each other one is drawn."""
    drawn: dict[str, dict[str, None]] = {}
    for each, at in zip(told, x, strict=True):
        if each.kind:
            is_tall = each.kind in _TALL
            place = round(at) if is_tall else SHORT * round(at / SHORT)
            drawn.setdefault(each.kind, {})[f"M{place} {'38v12' if is_tall else '44v6'}"] = None
    ordered = sorted(drawn.items(), key=lambda item: item[0] in _TALL)
    return [(kind, "".join(path)) for kind, path in ordered]


def _stops(told: Sequence[Told], x: Sequence[float]) -> list[Stop]:
    """Return so many events that each pixel has one, those with a tick first."""
    marked = [n for n, each in enumerate(told) if each.kind]
    rest = [n for n, each in enumerate(told) if not each.kind]
    chosen = set(_some(marked, STOPS)) | set(_some(rest, max(STOPS - len(marked), 0))) | {len(told) - 1}
    return [
        Stop(told[n].event, round(x[n], 1), max((told[n].at - told[0].at).total_seconds(), 0))
        for n in sorted(chosen)
        if n >= 0
    ]


def _some(numbers: Sequence[int], most: int) -> Sequence[int]:
    return numbers[:: -(-len(numbers) // most)] if most and numbers else ()


def _labels(told: Sequence[Told], x: Sequence[float]) -> list[timedelta]:
    """Return how long after the begin it was at equal distances."""
    at = [bisect_left(x, WIDTH * n / LABELS) for n in range(LABELS)]
    return [max(told[n].at - told[0].at, timedelta()) for n in at if n < len(told)]
