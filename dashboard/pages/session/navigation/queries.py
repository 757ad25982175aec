"""Jumps and text search within a session.

A jump orders all places of a kind by their first event and takes the first one after the reader's position,
wrapping around at the end. A search scans lines in recorded order without an index: at most SEARCHED lines
per request, read in batches of BATCH, and the result names the event from which to continue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Coalesce

from dashboard.pages.session.events.bodies import decode
from dashboard.pages.session.events.summaries import summary
from dashboard.web import links
from recorder.core.records import ORIGIN_TRANSLATED
from recorder.journal.read import texts
from recorder.models import EventRecord, LoopRecord, Session, Turn

To = Literal["error", "winner", "waiting"]
TOS: tuple[To, ...] = ("error", "winner", "waiting")
BEGIN = Coalesce("start_event", "request_event", "end_event")
SEARCHED, SHOWN, BATCH = 2_000, 50, 200  # lines per request, hits per request, lines per batch
AROUND = 80  # characters of context on either side of a hit
# Types that repeat other lines, or parts of them, are not searched.
REPEATS = ("MessageUpdate", "TurnRequest", "AgentEnd", "TurnEnd", "MessageStart", "UsageSnapshot")


@dataclass(frozen=True, slots=True)
class Place:
    """A loop, and the number of one of its turns, from 1."""

    loop: int
    turn: int | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One matching event; `before`, `word` and `after` are an excerpt of its line."""

    type: str
    summary: str
    before: str
    word: str
    after: str
    at: datetime
    url: str


@dataclass(frozen=True, slots=True)
class Hits:
    """The hits of one request; `more` is the event after which to continue, None at the end."""

    hits: Sequence[Hit]
    searched: int
    more: int | None


def next_place(session: int, to: To, loop: int | None, turn: int | None) -> Place | None:
    """Return the next place of a kind after a loop or one of its turns; after the last one the first."""
    places = sorted(_failures(session) if to == "error" else _loops(session, to))
    if not places:
        return None
    here = _event_of(session, loop, turn) if loop else -1
    _, found, ordinal = next((target for target in places if target[0] > here), places[0])
    return Place(found, None if ordinal < 0 else ordinal + 1)


def _failures(session: int) -> list[tuple[int, int, int]]:
    """Return failed turns, turns with failed tools, loops failed elsewhere: event, loop, ordinal."""
    failed = Turn.objects.filter(loop__session=session).filter(~Q(error="") | Q(tool_errors__gt=0))
    found = [
        (begin or 0, loop, ordinal)
        for begin, loop, ordinal in failed.annotate(begin=BEGIN).values_list("begin", "loop_id", "ordinal")
    ]
    failed_turns = Turn.objects.filter(loop=OuterRef("pk")).filter(~Q(error="") | Q(tool_errors__gt=0))
    others = LoopRecord.objects.filter(~Exists(failed_turns), session=session, outcome="failed")
    return found + [(event or 0, loop, -1) for event, loop in others.values_list("start_event", "pk")]


def _loops(session: int, to: To) -> list[tuple[int, int, int]]:
    wanted = Q(is_selected=True) if to == "winner" else Q(waiting__gt=0)
    rows = LoopRecord.objects.filter(wanted, session=session).values_list("start_event", "pk")
    return [(event or 0, loop, -1) for event, loop in rows]


def _event_of(session: int, loop: int, turn: int | None) -> int:
    """Return the first event of the turn, else of the loop; -1 if there is none."""
    turns = Turn.objects.filter(loop__session=session, loop=loop)
    if turn is not None:
        begin = turns.filter(ordinal=turn - 1).annotate(begin=BEGIN).values_list("begin", flat=True).first()
        if begin is not None:
            return int(begin)
    start = LoopRecord.objects.filter(session=session, pk=loop).values_list("start_event", flat=True).first()
    return start if start is not None else -1


def hits(session: Session, q: str, after: int = 0) -> Hits:
    """Return the events after `after` whose lines contain all words of `q`, ignoring case.

    At most SEARCHED lines.
    """
    words = [word.casefold() for word in q.split()]
    rows = EventRecord.objects.filter(session=session.pk, pk__gt=after).exclude(type__in=REPEATS)
    rows = rows.exclude(origin=ORIGIN_TRANSLATED).order_by("pk")
    columns = ("pk", "type", "occurred_at", "journal__received_at")
    chosen = list(rows.values_list(*columns)[: SEARCHED + 1])
    found: list[Hit] = []
    for start in range(0, min(len(chosen), SEARCHED), BATCH):
        part = chosen[start : start + BATCH]
        lines = texts([pk for pk, *_ in part])
        for pk, kind, at, received in part:
            line = lines[pk].decode(errors="replace") if pk in lines else ""
            folded = line.casefold()
            if not all(word in folded for word in words):
                continue
            found.append(_hit(session.project.slug, pk, kind, line, words[0], at or received))
            if len(found) == SHOWN:
                return Hits(found, start + part.index((pk, kind, at, received)) + 1, pk)
    is_more = len(chosen) > SEARCHED
    return Hits(found, min(len(chosen), SEARCHED), chosen[SEARCHED - 1][0] if is_more else None)


def _hit(slug: str, pk: int, kind: str, line: str, word: str, at: datetime) -> Hit:
    start = max(line.casefold().find(word), 0)
    end = start + len(word)
    return Hit(
        kind,
        summary(kind, decode(line.encode())),
        line[max(0, start - AROUND) : start],
        line[start:end],
        line[end : end + AROUND],
        at,
        links.event(slug, pk),
    )
