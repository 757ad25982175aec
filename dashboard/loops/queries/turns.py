"""Turns with all that was said and done in them, and what stands after the last one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

from django.db.models import Max, OuterRef, Prefetch, Q, Subquery, prefetch_related_objects
from django.db.models.functions import Coalesce

from dashboard import links, streaming
from dashboard.breakdown import Breakdown, breakdown
from dashboard.loops.conversation import Reading
from dashboard.loops.items import Item, as_written
from dashboard.loops.queries import calls, lines, questions
from dashboard.money import COST
from dashboard.streaming import Block
from dashboard.usage import COLUMNS
from recorder.models import LoopRecord, ModelConfig, Turn

TAIL_MAX = 200  # lines that are shown after the last turn
BEGIN = Coalesce("start_event", "request_event", "end_event")
SAID = ("ordinal", "triggered_by", "state", "model", "error", "stop_reason", "started_at", "ended_at")
# With their other columns these rows are 130 wide.
SHOWN = (
    *SAID,
    *COLUMNS,
    *COST,
    "cache_write_1h_tokens",
    "config",
    "price",
    "provider",
    "start_event",
    "end_event",
    "loop__session__project__slug",
)
TRIGGERS = {"User": "user", "SubAgent": "sub-agent", "Continuation": "tool results", "Branch": "branch"}
STOPS = {
    "length": "The answer reached its length limit",
    "maxTurns": "The turn limit was reached",
    "userStop": "Stopped by the user",
    "aborted": "Aborted",
    "guardRail": "Stopped by a guard rail",
    "contextCompacted": "Stopped to compact the context",
    "paused": "Paused",
    "handoff": "Handed over",
}


@dataclass(frozen=True, slots=True)
class TurnView:
    """One turn; root of the panel session/turn."""

    pk: int
    into: str
    order: int
    trigger: str
    state: str
    model: str
    error: str
    stop: str
    started_at: datetime
    ended_at: datetime | None
    spent: Turn
    cost: Breakdown | None  # None while nothing is spent
    before: Sequence[Item]  # what happened between the turn before and this one
    items: Sequence[Item]
    streaming: Sequence[Block]
    pruned_on: date | None  # when some of what was said in it went
    as_of: str  # the session as it was when the turn had ended

    @property
    def number(self) -> int:
        return self.order + 1

    @property
    def cached_tokens(self) -> int:
        return self.spent.cache_read_tokens + self.spent.cache_write_tokens

    @property
    def has_usage(self) -> bool:
        return bool(self.spent.input_tokens or self.spent.output_tokens or self.cached_tokens)


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of a conversation; root of the panel session/tail."""

    pk: int
    items: Sequence[Item]
    streaming: Sequence[Block]
    status: str
    outcome: str
    rejection: str | None
    error: str  # "" when the last turn says it
    is_bare: bool  # no turn began
    pruned_on: date | None


@dataclass(frozen=True, slots=True)
class _Span:
    """A turn, and where the one before it began."""

    turn: Turn
    before: int
    begin: int

    def holds(self, line: lines.Line) -> bool:
        """Say whether a line of no turn stands between the turn before and this one."""
        return line.loop == self.turn.loop_id and self.before < line.body.id < self.begin


def turns(pks: Collection[int]) -> Mapping[int, TurnView]:
    """Return turns whole. Eight queries at most, and six of one that runs."""
    spans = _spans(pks)
    loops = {span.turn.loop_id for span in spans}
    called = calls.calls(Q(turn__in=pks) | Q(loop__in=loops, turn=None))
    found = lines.read(_lines_of(spans, pks) | Q(pk__in=calls.events(called)))
    streamed = streaming.of_turns(pks)
    asked = questions.asked_in(found)
    owner = {pk: each.turn for each in called for pk in each.call.events}
    views = {}
    for span in spans:
        turn, slug = span.turn, span.turn.loop.session.project.slug
        inside = [line.body for line in found if (line.turn or owner.get(line.body.id)) == turn.pk]
        loose = [line.body for line in found if line.turn is None and span.holds(line)]
        own = [each.call for each in called if each.turn == turn.pk]
        others = [each.call for each in called if each.turn is None and each.loop == turn.loop_id]
        is_open, blocks = turn.state == "open", streamed.get(turn.pk, {})
        reading = Reading(slug, inside, own, blocks, is_open=is_open, questions=asked)
        views[turn.pk] = _view(turn, reading, Reading(slug, loose, others, questions=asked))
    return views


def raw_turns(pks: Collection[int]) -> Mapping[int, TurnView]:
    """Return turns with their texts as they were written."""
    return {
        pk: replace(view, before=as_written(view.before), items=as_written(view.items))
        for pk, view in turns(pks).items()
    }


def tails(pks: Collection[int]) -> Mapping[int, Tail]:
    """Return what stands after the last turn of each loop. Six queries at most."""
    last_turn = Turn.objects.filter(loop=OuterRef("pk")).order_by("-ordinal")
    last = Max(
        Coalesce("turn_records__start_event", "turn_records__request_event", "turn_records__end_event")
    )
    columns = ("status", "outcome", "rejection", "error", "session__project__slug")
    loops = LoopRecord.objects.filter(pk__in=pks).select_related("session__project").only(*columns)
    loops = loops.annotate(last=last, last_error=Subquery(last_turn.values("error")[:1]))
    since = {loop.pk: loop.last or 0 for loop in loops}
    called = calls.calls(Q(loop__in=pks, turn=None))
    which = Q(loop__in=pks, turn=None, pk__gt=min(since.values(), default=0))
    found = lines.read(which, newest=TAIL_MAX * max(len(since), 1))
    streamed = streaming.outside_turns(pks)
    asked = questions.asked_in(found)
    tails = {}
    for loop in loops:
        bodies = [line.body for line in found if line.loop == loop.pk and line.body.id > since[loop.pk]]
        own = [each.call for each in called if each.loop == loop.pk]
        reading = Reading(
            loop.session.project.slug,
            bodies,
            own,
            streamed.get(loop.pk, {}),
            is_open=loop.status == "running",
            questions=asked,
        )
        tails[loop.pk] = Tail(
            loop.pk,
            reading.items(),
            reading.streaming(),
            loop.status,
            loop.outcome,
            loop.rejection,
            "" if loop.error == loop.last_error else loop.error,
            is_bare=loop.last is None,
            pruned_on=reading.pruned_on,
        )
    return tails


def raw_tails(pks: Collection[int]) -> Mapping[int, Tail]:
    """Return the same with its texts as they were written."""
    return {pk: replace(tail, items=as_written(tail.items)) for pk, tail in tails(pks).items()}


def _view(turn: Turn, reading: Reading, before: Reading) -> TurnView:
    is_continued = turn.ordinal == 0 and turn.triggered_by == "Continuation"
    return TurnView(
        pk=turn.pk,
        into=f"session-turns-{turn.loop_id}",
        order=turn.ordinal,
        trigger="continued" if is_continued else TRIGGERS.get(turn.triggered_by, ""),
        state=turn.state,
        model=turn.model,
        error=turn.error,
        stop="" if turn.error else STOPS.get(turn.stop_reason, ""),
        started_at=turn.started_at,
        ended_at=turn.ended_at,
        spent=turn,
        cost=breakdown(turn) if _has_cost(turn) else None,
        before=before.items(),
        items=reading.items(),
        streaming=reading.streaming(),
        pruned_on=reading.pruned_on or before.pruned_on,
        as_of=_as_of(turn),
    )


def _as_of(turn: Turn) -> str:
    loop, event = turn.loop, turn.end_event or turn.start_event
    return links.as_of(loop.session.project.slug, loop.session_id, event, loop=loop.pk) if event else ""


def _spans(pks: Collection[int]) -> list[_Span]:
    """Return the turns in recorded order, each with its begin and that of the turn before it.

    One query, and two more for what turns cost: those that run have not cost anything yet.
    """
    earlier = Turn.objects.filter(loop=OuterRef("loop"), ordinal=OuterRef("ordinal") - 1).values(begin=BEGIN)
    chosen = Turn.objects.filter(pk__in=pks).select_related("loop__session__project").only(*SHOWN)
    found = chosen.annotate(begin=BEGIN, before=Subquery(earlier))
    ordered = sorted(found, key=lambda turn: turn.pk)
    config = Prefetch("config", ModelConfig.objects.only("model", "provider"))
    prefetch_related_objects([turn for turn in ordered if _has_cost(turn)], config, "price")
    return [_Span(turn, turn.before or 0, turn.begin or 0) for turn in ordered]


def _has_cost(turn: Turn) -> bool:
    return bool(turn.unpriced) or turn.cost_nano is not None


def _lines_of(spans: Sequence[_Span], pks: Collection[int]) -> Q:
    loops = {span.turn.loop_id for span in spans}
    first = min((span.before for span in spans), default=0)
    last = max((span.begin for span in spans), default=0)
    return Q(loop__in=loops, pk__gte=first, turn__in=pks) | Q(
        loop__in=loops, pk__gt=first, pk__lt=last, turn=None
    )
