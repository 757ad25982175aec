"""Reads turns with all their items.

A turn shows the lines recorded with its id and, before them, the lines of its loop without a turn since the
previous turn began. Cost: a fixed number of queries for any number of turns (eight at most); the bodies of
folded calls are not read. Turns are read in two parts, so that a turn whose fragment is cached costs no body:
`sources` has their records, `views` reads the bodies of some of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial
from hashlib import blake2b
from typing import Any

from django.db.models import Model, QuerySet

from dashboard.live.queries import streaming_text
from dashboard.live.queries.streaming_text import Block
from dashboard.notes.queries.entries import Entry, Marks, marks, of_turns
from dashboard.pages.session.context.turn_words import CacheWords, cache_words
from dashboard.pages.session.conversation.fold_messages import Address
from dashboard.pages.session.conversation.items import Item, Question, raw_items
from dashboard.pages.session.conversation.queries import approvals, folded_calls, lines
from dashboard.pages.session.conversation.queries import calls as calls_query
from dashboard.pages.session.conversation.turn import STOPS, Call, Folded, Reading
from dashboard.pages.session.events.bodies import Body
from dashboard.shared.compiled_query import compiled, in_list, list_param
from dashboard.shared.cost_breakdown import Breakdown, breakdown
from dashboard.shared.queries.config_labels import Chip, chip
from dashboard.shared.queries.costs import COST
from dashboard.shared.session_state import SHOWN as SESSION_STATE
from dashboard.shared.session_state import State, is_stale
from dashboard.shared.usage_bar import COLUMNS
from dashboard.shared.waste.queries.marks import OF_TURN, TURN_COLUMNS, Mark, of_turn, until
from dashboard.web import links
from recorder.models import ModelConfig, Price, Turn

STATE = ("ordinal", "triggered_by", "state", "model", "provider", "error", "stop_reason")
TIMES = ("started_at", "ended_at", "start_event", "end_event")
# A whole row has 130 columns with its relations.
SHOWN = (
    *(*STATE, *TIMES, *COLUMNS, *COST, "cache_write_1h_tokens", "web_searches"),
    *("loop_id", "config_id", "agent_id", "price_id"),
)
_CHANGED = "({0}.agent_id <> '' OR {0}.config_id <> l.config_id)".format
_BEGIN = "COALESCE({0}.start_event, {0}.request_event, {0}.end_event)".format
_TURNS = f"""SELECT t.id, {", ".join(f"t.{name}" for name in SHOWN)},
COALESCE({_CHANGED("t")}, FALSE) AS is_changed, COALESCE({_CHANGED("b")}, FALSE) AS was_changed,
COALESCE(NULLIF(t.agent_id, ''), l.agent_id) AS agent,
l.session_id AS session, p.slug AS slug, {", ".join(f"s.{name} AS of_{name}" for name in SESSION_STATE)},
{_BEGIN("t")} AS begun, {_BEGIN("b")} AS earlier,
s.session_id AS session_name, l.loop_id AS loop_name, l.run AS run, p.id AS project,
EXISTS (SELECT 1 FROM recorder_note n WHERE n.project_id = p.id AND n.session_id = s.session_id
AND n.loop_id = l.loop_id AND n.run = l.run AND n.turn = t.ordinal) AS is_noted, k.verdict AS verdict,
{TURN_COLUMNS} FROM recorder_turn t JOIN recorder_looprecord l ON l.id = t.loop_id
JOIN recorder_session s ON s.id = l.session_id JOIN recorder_project p ON p.id = s.project_id
LEFT JOIN recorder_turn b ON b.loop_id = t.loop_id AND b.ordinal = t.ordinal - 1
LEFT JOIN recorder_ledgercall k ON k.turn = t.id {OF_TURN}
WHERE {{}} ORDER BY t.id"""  # noqa: S608  names
_NOT_SHOWN = {"_state", *(f"of_{name}" for name in SESSION_STATE)}


@dataclass(frozen=True, slots=True)
class TurnView:
    """One turn; root of the panel session/conversation/turn."""

    pk: int
    into: str
    order: int
    trigger: str
    state: str  # open, stale, done or cut
    model: str
    chip: Chip | None  # its config; None where it is that of the loop and of the turn before
    agent: str  # the same for its agent
    error: str
    stop: str
    started_at: datetime
    ended_at: datetime | None
    usage: Turn
    cost: Breakdown | None  # None while there is no cost
    cache: CacheWords | None  # None while it is not in the block ledger
    waste: Mark | None  # of the whole turn
    before: Sequence[Item]  # items between the previous turn and this one
    items: Sequence[Item]
    streaming: Sequence[Block]
    pruned_on: date | None  # last day on which bodies of it were pruned
    as_of: str  # URL of the session at the end of the turn
    notes: Sequence[Entry]
    note_url: str  # of the form that writes one

    @property
    def marks(self) -> Marks:
        return marks(self.notes)

    @property
    def number(self) -> int:
        return self.order + 1

    @property
    def cached_tokens(self) -> int:
        return self.usage.cache_read_tokens + self.usage.cache_write_tokens

    @property
    def has_usage(self) -> bool:
        return bool(self.usage.input_tokens or self.usage.output_tokens or self.cached_tokens)


@dataclass(frozen=True, slots=True)
class _Span:
    """A turn with its project and session, and the first events of the previous turn and of itself."""

    turn: Turn
    slug: str
    session: int
    before: int
    begin: int
    shows_answerer: bool  # its config or agent is not that of the loop's start, or that of the turn before
    silent_since: datetime | None  # the time of its session's last event if that is stale

    @property
    def state(self) -> str:
        is_stale = self.turn.state == "open" and self.silent_since is not None
        return "stale" if is_stale else self.turn.state

    @property
    def turn_key(self) -> folded_calls.TurnKey:
        return self.slug, self.session, self.turn.loop_id, self.turn.ordinal

    @property
    def note_key(self) -> tuple[str, str, int, int]:
        turn: Any = self.turn
        return turn.session_name, turn.loop_name, turn.run, turn.ordinal

    @property
    def address(self) -> Address:
        return partial(links.turn_passage, *self.turn_key)

    @property
    def as_of(self) -> str:
        event = self.turn.end_event or self.turn.start_event
        return links.as_of(self.slug, self.session, event, loop=self.turn.loop_id) if event else ""

    def holds(self, line: lines.LineRecord) -> bool:
        """Return whether a line without a turn is between the previous turn and this one."""
        return line.loop == self.turn.loop_id and self.before < line.id < self.begin

    @property
    def values(self) -> tuple[object, ...]:
        """Return every value that was read of the turn, its config and its price.

        The state of its session changes with each event and is shown in a stale turn alone.
        """
        silent_since = self.silent_since if self.state == "stale" else None
        columns = map(_columns, (self.turn, self.turn.config, self.turn.price))
        return self.before, self.state, silent_since, *columns


@dataclass(frozen=True, slots=True)
class TurnSource:
    """Everything that a turn is rendered from, except the bodies of its lines."""

    span: _Span
    inside: Sequence[lines.LineRecord]
    loose: Sequence[lines.LineRecord]  # between the previous turn and this one
    own: Sequence[Call]
    others: Sequence[Call]  # calls of the loop outside of turns
    blocks: Mapping[int, tuple[Block, ...]]
    questions: Mapping[int, Question]
    folded: Folded | None
    notes: tuple[Entry, ...]

    @property
    def fingerprint(self) -> str:
        """Return a digest of the source. A line never changes without its record: it can only be pruned."""
        calls = self.own, self.others if self.loose else ()
        shown = self.span.values, self.inside, self.loose, calls, self.blocks, self.questions, self.notes
        return blake2b(repr(shown).encode(errors="surrogatepass"), digest_size=20).hexdigest()


def sources(pks: Collection[int]) -> Mapping[int, TurnSource]:
    """Return what turns are rendered from. Seven queries at most, five while one runs; notes take five."""
    spans = _spans(pks)
    loops = {span.turn.loop_id for span in spans}
    of_turns = f"{in_list('c.turn_id')} OR ({calls_query.outside_turns()})"
    called = calls_query.calls(of_turns, list_param(pks), list_param(loops))
    folded = folded_calls.folds(called, {span.turn.pk: span.turn_key for span in spans})
    hidden = frozenset(pk for fold in folded.values() for pk in fold.events)
    line_records = _lines_of(spans, pks, calls_query.events(called) - hidden, folded.values())
    streamed = streaming_text.of_turns(pks)
    questions = approvals.questions_in(line_records)
    owner = {pk: placed.turn for placed in called for pk in placed.call.events if pk not in hidden}
    lines_of: dict[int | None, list[lines.LineRecord]] = defaultdict(list)
    for line in line_records:
        lines_of[line.turn or owner.get(line.id)].append(line)
    calls_of: dict[tuple[int, int | None], list[Call]] = defaultdict(list)
    for placed in called:
        calls_of[placed.loop, placed.turn].append(placed.call)
    outside = [line for line in line_records if line.turn is None]
    notes = _notes_of(spans)
    made = {}
    for span in spans:
        turn, pk = span.turn, span.turn.pk
        inside, loose = lines_of[pk], [line for line in outside if span.holds(line)]
        own, others = calls_of[turn.loop_id, pk], calls_of[turn.loop_id, None]
        wanted = {line.id: questions[line.id] for line in (*inside, *loose) if line.id in questions}
        fold = folded[pk].folded if pk in folded else None
        noted = notes.get(span.note_key, ())
        made[pk] = TurnSource(span, inside, loose, own, others, streamed.get(pk, {}), wanted, fold, noted)
    return made


def views(turn_sources: Collection[TurnSource]) -> Mapping[int, TurnView]:
    """Return turns with all items, by primary key. One query."""
    read = lines.bodies([line for source in turn_sources for line in (*source.inside, *source.loose)])
    return {source.span.turn.pk: _view(source, read) for source in turn_sources}


def raw_views(turn_sources: Collection[TurnSource]) -> Mapping[int, TurnView]:
    """Return turns with Markdown not rendered."""
    return {
        pk: replace(view, before=raw_items(view.before), items=raw_items(view.items))
        for pk, view in views(turn_sources).items()
    }


def _view(source: TurnSource, read: Mapping[int, Body]) -> TurnView:
    span, turn = source.span, source.span.turn
    reading = Reading(
        span.slug,
        [read[line.id] for line in source.inside],
        source.own,
        source.blocks,
        is_open=turn.state == "open",
        questions=source.questions,
        folded=source.folded,
        address=span.address,
    )
    loose = [read[line.id] for line in source.loose]
    before = Reading(span.slug, loose, source.others, questions=source.questions, address=span.address)
    return TurnView(
        pk=turn.pk,
        into=f"session-turns-{turn.loop_id}",
        order=turn.ordinal,
        trigger=reading.trigger(turn.triggered_by, turn.ordinal),
        state=span.state,
        model=turn.model,
        chip=chip(turn.config) if span.shows_answerer and turn.config else None,
        agent=turn.agent if span.shows_answerer else "",  # type: ignore[attr-defined]
        error=turn.error,
        stop="" if turn.error else STOPS.get(turn.stop_reason, ""),
        started_at=turn.started_at,
        ended_at=span.silent_since if span.state == "stale" else turn.ended_at,
        usage=turn,
        cost=breakdown(turn) if turn.unpriced or turn.cost_nano is not None else None,
        cache=cache_words(turn, span.slug, span.session),
        waste=of_turn(turn, span.slug, span.session),
        before=before.items(),
        items=reading.items(),
        streaming=reading.streaming(),
        pruned_on=reading.pruned_on or before.pruned_on,
        as_of=span.as_of,
        notes=source.notes,
        note_url=links.new_note(span.slug, span.session, loop=turn.loop_id, turn=turn.ordinal),
    )


def _spans(pks: Collection[int]) -> list[_Span]:
    """Return the turns in recorded order, each with its first event and that of the previous turn.

    One query, and two more if a turn has ended and has a config and a price: a running turn has none yet.
    """
    ordered: list[Any] = list(Turn.objects.raw(_TURNS.format(in_list("t.id")), [until(), list_param(pks)]))
    configs = {
        config.pk: config for config in _configs({turn.config_id for turn in ordered if turn.config_id})
    }
    prices = {price.pk: price for price in _prices({turn.price_id for turn in ordered if turn.price_id})}
    for turn in ordered:
        turn.config, turn.price = configs.get(turn.config_id or 0), prices.get(turn.price_id or 0)
    return [
        _Span(
            turn,
            turn.slug,
            turn.session,
            turn.earlier or 0,
            turn.begun or 0,
            # What a turn shows depends on earlier turns alone: a turn that has ended never changes.
            bool(turn.is_changed or turn.was_changed),
            _silent_since(turn),
        )
        for turn in ordered
    ]


def _notes_of(spans: Sequence[_Span]) -> Mapping[tuple[str, str, int, int], tuple[Entry, ...]]:
    noted: list[Any] = [span.turn for span in spans if getattr(span.turn, "is_noted", False)]
    keys = {(turn.session_name, turn.loop_name, turn.run, turn.ordinal) for turn in noted}
    return of_turns(noted[0].project, keys) if noted else {}


def _silent_since(turn: Turn) -> datetime | None:
    session = State.of([getattr(turn, f"of_{name}") for name in SESSION_STATE])
    return session.last_event_at if is_stale(session) else None


def _columns(record: Model | None) -> list[tuple[str, object]]:
    return [pair for pair in vars(record).items() if pair[0] not in _NOT_SHOWN] if record else []


@compiled
def _configs(pks: Collection[int]) -> QuerySet[ModelConfig]:
    return ModelConfig.objects.filter(pk__in_list=pks).only("key", "slot", "model", "provider", "parameter")


@compiled
def _prices(pks: Collection[int]) -> QuerySet[Price]:
    return Price.objects.filter(pk__in_list=pks)


def _lines_of(
    spans: Sequence[_Span],
    pks: Collection[int],
    more: Collection[int],
    folded: Collection[folded_calls.Fold],
) -> list[lines.LineRecord]:
    """Return unfolded lines of turns, lines without a turn before them, and events `more`. One query."""
    loops = list_param({span.turn.loop_id for span in spans})
    first = min((span.before for span in spans), default=0)
    last = max((span.begin for span in spans), default=0)
    outside, left_out = folded_calls.outside(folded)
    inside = f"{in_list('e.loop_id')} AND e.id >= %s AND {in_list('e.turn_id')}{outside}"
    loose = f"{in_list('e.loop_id')} AND e.id > %s AND e.id < %s AND e.turn_id IS NULL"
    where = f"({inside}) OR ({loose}) OR {in_list('e.id')}"
    of_turns = (loops, first, list_param(pks), *left_out)
    return lines.records(where, *of_turns, loops, first, last, list_param(more))
