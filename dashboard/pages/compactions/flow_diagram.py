"""Two contexts side by side as geometry: rows before, cards after, ribbons between, all on one grid. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from dashboard.compaction_analysis.message_zones import Comparison, Kind, Row, Zone
from dashboard.compaction_analysis.messages import Message

RUN_MAX, RUN_HEAD, RUN_TAIL = 10, 6, 2  # rows of one fate that stand together: all, or the first and the last
ROWS_MAX = 40
SPAN_MAX = 40  # dashboard/static/css/pages/compactions.css has a rule for each
CUTS_MAX = 6  # that a card lists
STAND_MAX = 6
GLANCE = 320  # characters of a message on a card
WHOLE = 16_000  # of one that is opened


@dataclass(frozen=True, slots=True)
class Line:
    """One row on the left: a group of messages, or what is folded away."""

    kind: Kind
    row: Row | None = None
    folded: int = 0  # groups
    size: int | None = None
    is_cut: bool = False

    @property
    def css(self) -> str:
        return "cut" if self.is_cut else self.kind

    @property
    def mark(self) -> str:
        """Return the colour of its bar."""
        return f"zone-{self.css}"


@dataclass(frozen=True, slots=True)
class Said:
    """A message that stands there now: as it begins, and as much of it as a page holds."""

    message: Message

    @property
    def text(self) -> str:
        return self.message.whole[:GLANCE].rstrip() + "…"

    @property
    def whole(self) -> str:
        return self.message.whole[:WHOLE]

    @property
    def words(self) -> int:
        return len(self.message.whole.split())

    @property
    def size(self) -> int:
        return self.message.size

    @property
    def is_long(self) -> bool:
        return len(self.message.whole) > GLANCE

    @property
    def is_cut(self) -> bool:
        return len(self.message.whole) > WHOLE


@dataclass(frozen=True, slots=True)
class Card:
    """One zone on the right."""

    zone: Zone
    span: int

    @property
    def cuts(self) -> int:
        """Return how many cut messages are not listed."""
        return max(0, len(self.zone.cuts) - CUTS_MAX)

    @property
    def shown(self) -> list[Said]:
        return [Said(each) for each in self.zone.stand[:STAND_MAX]]

    @property
    def more(self) -> int:
        """Return how many messages that stand there now are not shown."""
        return max(0, len(self.zone.stand) - STAND_MAX)


@dataclass(frozen=True, slots=True)
class Ribbon:
    """From rows to their card, in hundredths of the height."""

    css: str
    path: str


@dataclass(frozen=True, slots=True)
class Flow:
    """The whole drawing."""

    comparison: Comparison
    lines: Sequence[Line]
    cards: Sequence[Card]
    ribbons: Sequence[Ribbon]
    rest: int  # empty rows below the last on the left
    largest: int  # bytes of the largest row


def flow(comparison: Comparison) -> Flow:
    """Lay a comparison out."""
    lines = _lines(comparison.rows)
    cards = _cards(comparison.zones, lines)
    height = max(len(lines), sum(card.span for card in cards))
    return Flow(
        comparison=comparison,
        lines=lines,
        cards=cards,
        ribbons=_ribbons(lines, cards, height),
        rest=height - len(lines),
        largest=max((line.size or 0 for line in lines if line.row), default=0),
    )


def _lines(rows: Sequence[Row]) -> list[Line]:
    """Return the rows, long runs of one fate folded in their middle, and the end if there are too many."""
    lines: list[Line] = []
    for _, run in groupby(rows, key=lambda row: (row.kind, row.is_cut)):
        members = list(run)
        folded = members[RUN_HEAD:-RUN_TAIL] if len(members) > RUN_MAX else []
        head = members[:RUN_HEAD] if folded else members
        lines += [_line(row) for row in head]
        if folded:
            lines += [_folded(folded), *(_line(row) for row in members[-RUN_TAIL:])]
    if len(lines) <= ROWS_MAX:
        return lines
    shown = lines[: ROWS_MAX - 1]
    after = max((line.row.last for line in shown if line.row), default=0)
    return [*shown, _folded([row for row in rows if row.first > after])]


def _line(row: Row) -> Line:
    return Line(row.kind, row, size=row.size, is_cut=row.is_cut)


def _folded(rows: Sequence[Row]) -> Line:
    size = None if any(row.size is None for row in rows) else sum(row.size or 0 for row in rows)
    return Line(rows[0].kind, folded=len(rows), size=size, is_cut=rows[0].is_cut)


def _cards(zones: Sequence[Zone], lines: Sequence[Line]) -> list[Card]:
    """Return the cards, each as high as its words need, and where the left side is higher as its rows are."""
    least = [_span(zone) for zone in zones]
    room = len(lines) - sum(least)
    mine = [sum(line.kind == zone.kind for line in lines) for zone in zones]
    wanted = [max(0, rows - span) for rows, span in zip(mine, least, strict=True)]
    share = min(1.0, room / sum(wanted)) if room > 0 and any(wanted) else 0.0
    spans = [min(SPAN_MAX, span + int(more * share)) for span, more in zip(least, wanted, strict=True)]
    return [Card(zone, span) for zone, span in zip(zones, spans, strict=True)]


def _span(zone: Zone) -> int:
    stand = sum(1 if len(each.whole) < 80 else 3 for each in zone.stand[:STAND_MAX])
    return 1 + (zone.kind != "drop") + (min(len(zone.cuts), CUTS_MAX) + 1) // 2 + stand


def _ribbons(lines: Sequence[Line], cards: Sequence[Card], height: int) -> list[Ribbon]:
    """Return a ribbon for each run of rows to its part of its card."""
    tops: dict[
        Kind, tuple[float, float]
    ] = {}  # where the next ribbon meets the card, and how high a row is there
    at = 0
    for card in cards:
        rows = sum(line.kind == card.zone.kind for line in lines)
        tops[card.zone.kind] = (at, card.span / rows if rows else 0)
        at += card.span
    ribbons, at = [], 0
    for (kind, css), run in groupby(lines, key=lambda line: (line.kind, line.css)):
        rows = len(list(run))
        if kind in tops:
            top, each = tops[kind]
            ribbons.append(
                Ribbon(
                    css, _path(at / height, (at + rows) / height, top / height, (top + rows * each) / height)
                )
            )
            tops[kind] = (top + rows * each, each)
        at += rows
    return ribbons


def _path(left: float, left_end: float, right: float, right_end: float) -> str:
    a, b, c, d = (
        round(100 * y, 2) for y in (left + 0.002, left_end - 0.002, right + 0.004, right_end - 0.004)
    )
    return f"M0 {a}C50 {a} 50 {c} 100 {c}L100 {d}C50 {d} 50 {b} 0 {b}Z"
