"""Geometry of the film: stacked bars of tokens, one a call. Pure.

A bar is STEP units wide in a drawing that is stretched to the width of the page; heights are pixels. Each
series is one path. Of up to APART calls it has the bars, with a gap between them; of more it is an outline
that begins at the axis and is painted over by those of the series below it, which takes a third of the bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from dashboard.pages.session.context.queries import Reading
from dashboard.pages.session.context.series import Series, series_of
from dashboard.rendering.axis_ticks import amounts_up_to
from dashboard.rendering.number_format import tokens
from dashboard.shared.ledger.queries.session_ledger import CallRow

MOST = 1_000  # calls of one film; of more, those around the chosen one are shown
STEP = 10  # units of the width of a call
APART = 200  # calls up to which bars have a gap
HEIGHT = 220  # pixels of the bars
LOST = 32  # pixels of the row of money paid again
LINES = 5
LABELS, LABELS_NARROW = 26, 8
CUTS = 3  # compactions whose figures are written into the film
NEAR = 4  # a limit more than this many times as high as the highest bar is written, not drawn


@dataclass(frozen=True, slots=True)
class GridLine:
    """A grid line and its tokens."""

    y: float
    tokens: int


@dataclass(frozen=True, slots=True)
class Cut:
    """A compaction before a call; `text` is "" where there is no room for it."""

    x: int
    percent: float
    text: str
    is_right: bool  # the text is left of the line


@dataclass(frozen=True, slots=True)
class Label:
    """The number of a call on the axis."""

    percent: float
    number: int
    is_always_shown: bool  # on narrow screens too


@dataclass(frozen=True, slots=True)
class Film:
    """The film. `first` is the index of its first call within the scope."""

    first: int
    calls: Sequence[CallRow]
    series: Sequence[Series]
    paths: Sequence[tuple[str, str]]  # class and path of each series that is shown
    derived: str  # path over the calls whose requests are not recorded
    chains: Sequence[tuple[str, str]]  # class and path of each chain, if there are several
    missed: str
    hits: str
    lines: Sequence[GridLine]
    limits: Sequence[int]  # context windows of the calls in tokens, the smallest first
    limit: str  # path of those that are drawn; "" if none is
    limit_y: float | None  # of the text, if all calls have the same
    cuts: Sequence[Cut]
    labels: Sequence[Label]
    chosen: int  # index within the film

    @property
    def width(self) -> int:
        return STEP * len(self.calls)

    @property
    def chosen_x(self) -> int:
        return STEP * self.chosen


def film(reading: Reading, chosen: int) -> Film:
    """Lay out the calls of a scope around the one with the index `chosen`."""
    calls = reading.ledger.calls
    first = max(0, min(chosen - MOST // 2, len(calls) - MOST))
    shown = calls[first : first + MOST]
    series = series_of(reading, first, len(shown))
    highest = max((max(call.prompt or 0, sum(call.kinds.values())) for call in shown), default=0)
    limits = sorted({reading.windows[call.loop] for call in shown if call.loop in reading.windows})
    drawn = {limit for limit in limits if limit <= NEAR * highest}
    lines = _lines(max(highest, *drawn, 0))
    scale = HEIGHT / lines[-1].tokens
    gap = 1 if len(shown) <= APART else 0
    return Film(
        first=first,
        calls=shown,
        series=series,
        paths=_series_paths(series, scale, gap),
        derived=_derived_path(shown, scale, gap),
        chains=_chains(reading, shown),
        missed=_missed_path(shown, gap),
        hits=_hits(shown, gap),
        lines=lines,
        limits=limits,
        limit=_limit(reading, shown, drawn, scale),
        limit_y=round(HEIGHT - limits[0] * scale, 1) if drawn and len(limits) == 1 else None,
        cuts=_cuts(reading, shown, first),
        labels=_labels(reading, shown),
        chosen=chosen - first,
    )


def _limit(reading: Reading, shown: Sequence[CallRow], drawn: Collection[int], scale: float) -> str:
    """Return the path of lines above the calls, at the context window of each."""
    path, end = "", (-1, 0)
    for n, call in enumerate(shown):
        limit = reading.windows.get(call.loop, 0)
        if limit not in drawn:
            continue
        path += f"h{STEP}" if end == (n, limit) else f"M{n * STEP} {_number(HEIGHT - limit * scale)}h{STEP}"
        end = n + 1, limit
    return path


def _size(call: CallRow) -> int:
    return call.prompt or sum(call.kinds.values())


def _lines(highest: int) -> list[GridLine]:
    amounts = amounts_up_to(highest, LINES)
    rise = HEIGHT / (len(amounts) - 1)
    return [GridLine(round(HEIGHT - n * rise, 1), amount) for n, amount in enumerate(amounts)]


def _series_paths(series: Sequence[Series], scale: float, gap: int) -> list[tuple[str, str]]:
    """Return class and path of each series, in the order in which they are painted."""
    if not gap:
        upto = [0] * max((len(band.values) for band in series), default=0)
        outlines = []
        for band in series:
            upto = [below + value for below, value in zip(upto, band.values, strict=True)]
            outlines.append((band.css, _outline([value * scale for value in upto])))
        return outlines[::-1]
    base = [0.0] * max((len(band.values) for band in series), default=0)
    paths = []
    for band in series:
        bars = []
        for n, value in enumerate(band.values):
            if value:
                bars.append((n, value * scale, base[n]))
                base[n] += value * scale
        if bars:
            paths.append((band.css, _path(bars, gap)))
    return paths


def _outline(heights: Sequence[float], bottom: float = HEIGHT) -> str:
    """Return the path below a line of steps, in whole pixels."""
    return (
        f"M0 {bottom:g}" + "".join(f"V{bottom - height:.0f}h{STEP}" for height in heights) + f"V{bottom:g}z"
    )


def _path(bars: Sequence[tuple[int, float, float]], gap: int, bottom: float = HEIGHT) -> str:
    """Return the path of bars: the index of each, its height, and the height at which it begins."""
    width = STEP - 2 * gap
    return "".join(
        f"M{n * STEP + gap} {_number(bottom - base - height)}h{width}v{_number(height)}h-{width}z"
        for n, height, base in bars
    )


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _derived_path(shown: Sequence[CallRow], scale: float, gap: int) -> str:
    """Return the path over the bars of calls whose requests are not recorded; "" if all are."""
    heights = [0 if call.is_recorded else _size(call) * scale for call in shown]
    if not any(heights):
        return ""
    bars = [(n, height, 0) for n, height in enumerate(heights) if height]
    return _path(bars, gap) if gap else _outline(heights)


def _hits(shown: Sequence[CallRow], gap: int) -> str:
    """Return the path of a tick for each call without a loss; a line if there is no gap between bars."""
    if not gap:
        return f"M0 {LOST - 2}h{STEP * len(shown)}v2h-{STEP * len(shown)}z"
    return _path([(n, 2, 0) for n, call in enumerate(shown) if not call.lost_tokens], 2, LOST)


def _missed_path(shown: Sequence[CallRow], gap: int) -> str:
    """Return the path of what was paid again: dollars on one scale, or tokens if no miss has a price."""
    has_price = any(call.lost_nano for call in shown)
    lost = [(call.lost_nano or 0) if has_price else call.lost_tokens for call in shown]
    most = max(lost, default=0)
    return _path([(n, max(3, LOST * amount / most), 0) for n, amount in enumerate(lost) if amount], gap, LOST)


def _chains(reading: Reading, shown: Sequence[CallRow]) -> list[tuple[str, str]]:
    slots: Mapping[int, int] = reading.chain_slots
    if len(slots) < 2:
        return []
    of_slot: dict[int, list[tuple[int, float, float]]] = {}
    for n, call in enumerate(shown):
        of_slot.setdefault(slots[call.chain], []).append((n, 6, 0))
    return [(f"config-{slot}", _path(bars, 0, 6)) for slot, bars in sorted(of_slot.items())]


def _cuts(reading: Reading, shown: Sequence[CallRow], first: int) -> list[Cut]:
    cuts: list[Cut] = []
    before: dict[int, CallRow] = {}
    for n, call in enumerate(reading.ledger.calls[: first + len(shown)]):
        earlier, before[call.chain] = before.get(call.chain), call
        if not call.compacted or n < first:
            continue
        sizes = f"{tokens(_size(earlier))} to {tokens(_size(call))}" if earlier else ""
        percent = 100 * (n - first) / len(shown)
        text = f"compaction {sizes}".strip() if len(cuts) < CUTS else ""
        cuts.append(Cut(STEP * (n - first), round(percent, 2), text, percent > 70))
    return cuts


def _labels(reading: Reading, shown: Sequence[CallRow]) -> list[Label]:
    every, narrow = (max(1, ceil(len(shown) / most)) for most in (LABELS, LABELS_NARROW))
    narrow = every * ceil(narrow / every)
    return [
        Label(round(100 * (n + 0.5) / len(shown), 2), reading.number(call), n % narrow == 0)
        for n, call in enumerate(shown)
        if n % every == 0
    ]
