"""Geometry of the flow diagram: rows before, cards after, ribbons between them, on one grid. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from dashboard.compaction_analysis.message_zones import Comparison, Kind, MessageGroup, Zone
from dashboard.compaction_analysis.messages import Message

RUN_MAX, RUN_HEAD, RUN_TAIL = 10, 6, 2  # a longer run of one kind shows only its first and last rows
ROWS_MAX = 40
SPAN_MAX = 40  # static/css/pages/compactions.css has a rule for each
CUTS_MAX = 6  # listed on a card
INSERTED_MAX = 6
EXCERPT_MAX = 320  # characters of a message on a card
TEXT_MAX = 16_000  # characters of an expanded message


@dataclass(frozen=True, slots=True)
class MessageRow:
    """One row on the left: a group of messages, or the number of folded groups."""

    kind: Kind
    row: MessageGroup | None = None
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
class InsertedMessage:
    """A message that the compaction inserted: its beginning, and its text up to TEXT_MAX."""

    message: Message

    @property
    def text(self) -> str:
        return self.message.whole[:EXCERPT_MAX].rstrip() + "…"

    @property
    def whole(self) -> str:
        return self.message.whole[:TEXT_MAX]

    @property
    def words(self) -> int:
        return len(self.message.whole.split())

    @property
    def size(self) -> int:
        return self.message.size

    @property
    def is_long(self) -> bool:
        return len(self.message.whole) > EXCERPT_MAX

    @property
    def is_cut(self) -> bool:
        return len(self.message.whole) > TEXT_MAX


@dataclass(frozen=True, slots=True)
class Card:
    """One zone on the right."""

    zone: Zone
    span: int

    @property
    def cuts(self) -> int:
        """Return the number of truncated messages that are not listed."""
        return max(0, len(self.zone.cuts) - CUTS_MAX)

    @property
    def shown(self) -> list[InsertedMessage]:
        return [InsertedMessage(message) for message in self.zone.inserted[:INSERTED_MAX]]

    @property
    def more(self) -> int:
        """Return the number of inserted messages that are not shown."""
        return max(0, len(self.zone.inserted) - INSERTED_MAX)


@dataclass(frozen=True, slots=True)
class Ribbon:
    """Connects rows with their card, in percent of the height."""

    css: str
    path: str


@dataclass(frozen=True, slots=True)
class Flow:
    """The whole diagram."""

    comparison: Comparison
    lines: Sequence[MessageRow]
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


def _lines(rows: Sequence[MessageGroup]) -> list[MessageRow]:
    """Return the rows; long runs of one kind are folded in the middle, rows beyond ROWS_MAX at the end."""
    lines: list[MessageRow] = []
    for _, run in groupby(rows, key=lambda row: (row.kind, row.is_cut)):
        members = list(run)
        folded = members[RUN_HEAD:-RUN_TAIL] if len(members) > RUN_MAX else []
        head = members[:RUN_HEAD] if folded else members
        lines += [_line(row) for row in head]
        if folded:
            lines += [_folded_row(folded), *(_line(row) for row in members[-RUN_TAIL:])]
    if len(lines) <= ROWS_MAX:
        return lines
    shown = lines[: ROWS_MAX - 1]
    after = max((line.row.last for line in shown if line.row), default=0)
    return [*shown, _folded_row([row for row in rows if row.first > after])]


def _line(row: MessageGroup) -> MessageRow:
    return MessageRow(row.kind, row, size=row.size, is_cut=row.is_cut)


def _folded_row(rows: Sequence[MessageGroup]) -> MessageRow:
    size = None if any(row.size is None for row in rows) else sum(row.size or 0 for row in rows)
    return MessageRow(rows[0].kind, folded=len(rows), size=size, is_cut=rows[0].is_cut)


def _cards(zones: Sequence[Zone], lines: Sequence[MessageRow]) -> list[Card]:
    """Return the cards, each as high as its text; spare height is shared in proportion to their rows."""
    least = [_span(zone) for zone in zones]
    room = len(lines) - sum(least)
    row_counts = [sum(line.kind == zone.kind for line in lines) for zone in zones]
    wanted = [max(0, rows - span) for rows, span in zip(row_counts, least, strict=True)]
    share = min(1.0, room / sum(wanted)) if room > 0 and any(wanted) else 0.0
    spans = [min(SPAN_MAX, span + int(more * share)) for span, more in zip(least, wanted, strict=True)]
    return [Card(zone, span) for zone, span in zip(zones, spans, strict=True)]


def _span(zone: Zone) -> int:
    inserted = sum(1 if len(message.whole) < 80 else 3 for message in zone.inserted[:INSERTED_MAX])
    return 1 + (zone.kind != "drop") + (min(len(zone.cuts), CUTS_MAX) + 1) // 2 + inserted


def _ribbons(lines: Sequence[MessageRow], cards: Sequence[Card], height: int) -> list[Ribbon]:
    """Return a ribbon from each run of rows to its part of their card."""
    tops: dict[Kind, tuple[float, float]] = {}  # y of the next ribbon at the card, height of a row there
    at = 0
    for card in cards:
        rows = sum(line.kind == card.zone.kind for line in lines)
        tops[card.zone.kind] = (at, card.span / rows if rows else 0)
        at += card.span
    ribbons, at = [], 0
    for (kind, css), run in groupby(lines, key=lambda line: (line.kind, line.css)):
        rows = len(list(run))
        if kind in tops:
            top, row_height = tops[kind]
            ribbons.append(
                Ribbon(
                    css,
                    _path(
                        at / height, (at + rows) / height, top / height, (top + rows * row_height) / height
                    ),
                )
            )
            tops[kind] = (top + rows * row_height, row_height)
        at += rows
    return ribbons


def _path(left: float, left_end: float, right: float, right_end: float) -> str:
    a, b, c, d = (
        round(100 * y, 2) for y in (left + 0.002, left_end - 0.002, right + 0.004, right_end - 0.004)
    )
    return f"M0 {a}C50 {a} 50 {c} 100 {c}L100 {d}C50 {d} 50 {b} 0 {b}Z"
