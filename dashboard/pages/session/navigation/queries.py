"""Jumps and text search within a session.

A jump orders all places of a kind by their first event and takes the first one after the reader's position,
wrapping around at the end. A search scans lines in recorded order without an index: at most SEARCHED lines
per request, read in batches of BATCH, and the result names the event from which to continue.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce

from dashboard.pages.session.events.bodies import Object, decode, obj
from dashboard.pages.session.events.summaries import summary
from dashboard.pages.session.navigation.matches import Match, matches
from dashboard.shared.time_functions import microseconds
from dashboard.web import links
from recorder.core.records import ORIGIN_DERIVED, ORIGIN_SILENT, ORIGIN_TRANSLATED
from recorder.core.sources import OTLP
from recorder.journal.read import texts
from recorder.models import EventRecord, LoopRecord, Session, ToolCall, Turn

To = Literal["error", "winner", "waiting", "first-error", "dearest", "slowest"]
TOS: tuple[To, ...] = ("error", "winner", "waiting", "first-error", "dearest", "slowest")
# The figures whose highest value a jump finds, and the turns that have one.
HIGHEST: Mapping[str, tuple[Combinable, Q]] = {
    "dearest": (F("cost_nano"), Q(cost_nano__gt=0)),
    "slowest": (microseconds("started_at", F("ended_at")), Q(ended_at__isnull=False)),
}
BEGIN = Coalesce("start_event", "request_event", "end_event")
SEARCHED, SHOWN, BATCH = 2_000, 50, 200  # lines per request, hits per request, lines per batch
# Types that repeat other lines, or parts of them, are not searched.
REPEATS = ("MessageUpdate", "TurnRequest", "AgentEnd", "TurnEnd", "MessageStart", "UsageSnapshot")
TEXTS = ("MessageEnd", "ToolExecutionStart", "ToolExecutionUpdate", "ToolExecutionEnd", "ProgressMessage")


@dataclass(frozen=True, slots=True)
class Place:
    """A loop, and the number of one of its turns, from 1."""

    loop: int
    turn: int | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A turn, tool call or other event that matches; `before`, `word` and `after` are an excerpt of it."""

    what: str  # "Turn 3", "Tool call", or "" for another event
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
    """Return the next place of a kind after a loop or one of its turns; after the last one the first.

    The dearest and the slowest turn and the first error are one place each, wherever the reader is.
    """
    if to in HIGHEST:
        return _highest(session, *HIGHEST[to])
    places = sorted(_failures(session) if to in ("error", "first-error") else _loops(session, to))
    if not places:
        return None
    here = _event_of(session, loop, turn) if loop and to != "first-error" else -1
    _, next_loop, ordinal = next((target for target in places if target[0] > here), places[0])
    return Place(next_loop, None if ordinal < 0 else ordinal + 1)


def _highest(session: int, figure: Combinable, has_it: Q) -> Place | None:
    turns = Turn.objects.filter(has_it, loop__session=session).annotate(figure=figure)
    turn = turns.order_by("-figure", "pk").values_list("loop_id", "ordinal").first()
    return Place(turn[0], turn[1] + 1) if turn else None


def _failures(session: int) -> list[tuple[int, int, int]]:
    """Return failed turns, turns with failed tools, loops failed elsewhere: event, loop, ordinal."""
    failed = Turn.objects.filter(loop__session=session).filter(~Q(error="") | Q(tool_errors__gt=0))
    failures = [
        (begin or 0, loop, ordinal)
        for begin, loop, ordinal in failed.annotate(begin=BEGIN).values_list("begin", "loop_id", "ordinal")
    ]
    failed_turns = Turn.objects.filter(loop=OuterRef("pk")).filter(~Q(error="") | Q(tool_errors__gt=0))
    others = LoopRecord.objects.filter(~Exists(failed_turns), session=session, outcome="failed")
    return failures + [(event or 0, loop, -1) for event, loop in others.values_list("start_event", "pk")]


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
    """Return the turns, tool calls and other events that contain all words of `q`, ignoring case.

    At most SEARCHED lines after the event `after` are searched. Each turn and each call is one hit, at its
    own time. Three queries, and one for each BATCH of lines.
    """
    words = [word.casefold() for word in q.split()]
    rows = [_Row(*values) for values in _searched_lines(session.pk, after)[: SEARCHED + 1]]
    more = rows[SEARCHED - 1].pk if len(rows) > SEARCHED else None
    first_matches: dict[_Key, _Found] = {}
    for number, row, line in _containing(rows[:SEARCHED], words):
        event = decode(line.encode(errors="replace"))
        for match in matches(row.type, event, line, words):
            first_matches.setdefault(_key(row, match), _Found(row, match, event))
        if len(first_matches) >= SHOWN:
            return Hits(_hits(session, first_matches, words[0]), number, row.pk)
    return Hits(_hits(session, first_matches, words[0]), min(len(rows), SEARCHED), more)


class _Row(NamedTuple):
    pk: int
    type: str
    occurred_at: datetime | None
    received_at: datetime
    loop: int | None
    turn: int | None


class _Found(NamedTuple):
    row: _Row
    match: Match
    event: Object


_Key: TypeAlias = tuple[str, int, str]


def _searched_lines(session: int, after: int) -> QuerySet[EventRecord, tuple[Any, ...]]:
    """Query the lines after an event that have texts of their own.

    Spans have their texts in the events that were read of them. Of these, those that were read again count.
    """
    rows = EventRecord.objects.filter(session=session, pk__gt=after).exclude(type__in=REPEATS)
    rows = rows.exclude(origin=ORIGIN_TRANSLATED)
    rows = rows.exclude(origin=ORIGIN_SILENT, journal__producer__format=OTLP)
    rows = rows.exclude(origin=ORIGIN_DERIVED, pk__lt=F("loop__start_event"))
    rows = rows.exclude(origin=ORIGIN_DERIVED, loop=None, type__in=TEXTS)
    columns = ("pk", "type", "occurred_at", "journal__received_at", "loop", "turn")
    return rows.order_by("pk").values_list(*columns)


def _containing(rows: Sequence[_Row], words: Sequence[str]) -> Iterator[tuple[int, _Row, str]]:
    """Yield number, row and text of each line that contains all words."""
    for start in range(0, len(rows), BATCH):
        part = rows[start : start + BATCH]
        lines = texts([row.pk for row in part])
        for number, row in enumerate(part, start + 1):
            line = lines[row.pk].decode(errors="replace") if row.pk in lines else ""
            folded = line.casefold()
            if all(word in folded for word in words):
                yield number, row, line


def _key(row: _Row, match: Match) -> _Key:
    if match.call and row.loop:
        return "call", row.loop, match.call
    return ("turn", row.turn, "") if row.turn else ("event", row.pk, "")


def _hits(session: Session, first_matches: Mapping[_Key, _Found], word: str) -> list[Hit]:
    slug = session.project.slug
    turns = Turn.objects.only("loop", "ordinal", "started_at", "ended_at")
    by_turn = turns.in_bulk([number for kind, number, _ in first_matches if kind == "turn"])
    named = [key for key in first_matches if key[0] == "call"]
    calls = ToolCall.objects.filter(loop__in={loop for _, loop, _ in named})
    calls = calls.filter(tool_call_id__in={call for _, _, call in named}).select_related("turn")
    by_call = {(call.loop_id, call.tool_call_id): call for call in calls.order_by("-pk")}
    return [
        _hit_of_call(slug, session.pk, first_match, by_call[number, call], word)
        if (number, call) in by_call
        else _hit_of_turn(
            slug, session.pk, first_match, by_turn.get(number) if kind == "turn" else None, word
        )
        for (kind, number, call), first_match in first_matches.items()
    ]


def _hit_of_call(slug: str, session: int, first_match: _Found, call: ToolCall, word: str) -> Hit:
    return Hit(
        "Tool call",
        first_match.row.type,
        f"{call.tool_name} {call.summary}".strip(),
        *first_match.match.excerpt(word),
        call.started_at or first_match.row.occurred_at or first_match.row.received_at,
        _url(slug, session, call.loop_id, call.turn, f"session-tool-{call.pk}")
        or links.event(slug, first_match.row.pk),
    )


def _hit_of_turn(slug: str, session: int, first_match: _Found, turn: Turn | None, word: str) -> Hit:
    is_prompt = obj(first_match.event.get("message")).get("role") == "user"
    recorded = None if turn is None else turn.started_at if is_prompt else turn.ended_at
    return Hit(
        f"Turn {turn.ordinal + 1}" if turn else "",
        first_match.row.type,
        summary(first_match.row.type, first_match.event),
        *first_match.match.excerpt(word),
        first_match.row.occurred_at or recorded or first_match.row.received_at,
        _url(slug, session, turn.loop_id, turn) if turn else links.event(slug, first_match.row.pk),
    )


def _url(slug: str, session: int, loop: int, turn: Turn | None, anchor: str = "") -> str:
    if turn is None:
        return ""
    number = turn.ordinal + 1
    return f"{links.loop(slug, session, loop, turn=number)}#{anchor or f'turn-{number}'}"
