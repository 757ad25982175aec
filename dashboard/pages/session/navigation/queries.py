"""What one goes to within a session: the next failure, winner or wait, and what its recorded words say."""

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
LOOKED_AT, SHOWN, ROUND = 2_000, 50, 200  # lines of one answer, hits of it, lines read at once
AROUND = 80  # characters of a hit on either side
# What repeats other lines, or is a piece of one, is not looked into.
REPEATS = ("MessageUpdate", "TurnRequest", "AgentEnd", "TurnEnd", "MessageStart", "UsageSnapshot")


@dataclass(frozen=True, slots=True)
class Place:
    """A loop, and a turn of it as people count."""

    loop: int
    turn: int | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One recorded event that holds the words; `before`, `word` and `after` are from its line."""

    type: str
    summary: str
    before: str
    word: str
    after: str
    at: datetime
    url: str


@dataclass(frozen=True, slots=True)
class Hits:
    """What was found in some of a session's events, and from which one on to look further."""

    hits: Sequence[Hit]
    looked_at: int
    more: int | None


def next_place(session: int, to: To, loop: int | None, turn: int | None) -> Place | None:
    """Return the next place of a kind after a loop or a turn of it, the first after the last."""
    places = sorted(_failures(session) if to == "error" else _loops(session, to))
    if not places:
        return None
    here = _event_of(session, loop, turn) if loop else -1
    _, found, ordinal = next((each for each in places if each[0] > here), places[0])
    return Place(found, None if ordinal < 0 else ordinal + 1)


def _failures(session: int) -> list[tuple[int, int, int]]:
    """Return turns that failed, or whose tools did, and loops that failed outside: event, loop, ordinal."""
    failed = Turn.objects.filter(loop__session=session).filter(~Q(error="") | Q(tool_errors__gt=0))
    found = [
        (begin or 0, loop, ordinal)
        for begin, loop, ordinal in failed.annotate(begin=BEGIN).values_list("begin", "loop_id", "ordinal")
    ]
    told = Turn.objects.filter(loop=OuterRef("pk")).filter(~Q(error="") | Q(tool_errors__gt=0))
    others = LoopRecord.objects.filter(~Exists(told), session=session, outcome="failed")
    return found + [(event or 0, loop, -1) for event, loop in others.values_list("start_event", "pk")]


def _loops(session: int, to: To) -> list[tuple[int, int, int]]:
    wanted = Q(is_selected=True) if to == "winner" else Q(waiting__gt=0)
    rows = LoopRecord.objects.filter(wanted, session=session).values_list("start_event", "pk")
    return [(event or 0, loop, -1) for event, loop in rows]


def _event_of(session: int, loop: int, turn: int | None) -> int:
    """Return the event at which the reader is: that of the turn, else the one before the loop begins."""
    turns = Turn.objects.filter(loop__session=session, loop=loop)
    if turn is not None:
        begin = turns.filter(ordinal=turn - 1).annotate(begin=BEGIN).values_list("begin", flat=True).first()
        if begin is not None:
            return int(begin)
    start = LoopRecord.objects.filter(session=session, pk=loop).values_list("start_event", flat=True).first()
    return start if start is not None else -1


def hits(session: Session, q: str, after: int = 0) -> Hits:
    """Return the events whose lines hold all words of `q`, looking at so many at most."""
    words = [word.casefold() for word in q.split()]
    rows = EventRecord.objects.filter(session=session.pk, pk__gt=after).exclude(type__in=REPEATS)
    rows = rows.exclude(origin=ORIGIN_TRANSLATED).order_by("pk")
    columns = ("pk", "type", "occurred_at", "journal__received_at")
    chosen = list(rows.values_list(*columns)[: LOOKED_AT + 1])
    found: list[Hit] = []
    for start in range(0, min(len(chosen), LOOKED_AT), ROUND):
        part = chosen[start : start + ROUND]
        lines = texts([pk for pk, *_ in part])
        for pk, kind, at, received in part:
            said = lines[pk].decode(errors="replace") if pk in lines else ""
            folded = said.casefold()
            if not all(word in folded for word in words):
                continue
            found.append(_hit(session.project.slug, pk, kind, said, words[0], at or received))
            if len(found) == SHOWN:
                return Hits(found, start + part.index((pk, kind, at, received)) + 1, pk)
    is_more = len(chosen) > LOOKED_AT
    return Hits(found, min(len(chosen), LOOKED_AT), chosen[LOOKED_AT - 1][0] if is_more else None)


def _hit(slug: str, pk: int, kind: str, said: str, word: str, at: datetime) -> Hit:
    start = max(said.casefold().find(word), 0)
    end = start + len(word)
    return Hit(
        kind,
        summary(kind, decode(said.encode())),
        said[max(0, start - AROUND) : start],
        said[start:end],
        said[end : end + AROUND],
        at,
        links.event(slug, pk),
    )
