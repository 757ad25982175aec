"""Reads the replay track of a session, and finds adjacent events.

A track is drawn from at most about READ events and LOOPS loops. Of more, every n-th row is read, and always
the rare and failed events, and the running and long loops. Cost: one query for all sessions and three for
each, four if a loop's turns had several configs; the rows read are bounded, the count of events is an index
scan. A cached track costs no scan of rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Any, Literal

from django.db.models import Count, F, Max, Min, OuterRef, Q, QuerySet, Subquery, Window
from django.db.models.functions import Coalesce, Lag, RowNumber

from dashboard.pages.session.replay.track import Layout, LoopSpan, TrackEvent, layout
from dashboard.pages.session.tree.queries import outliers
from dashboard.shared.compiled_query import compiled
from dashboard.shared.series_colours import series_slots
from dashboard.shared.session_state import SHOWN as SESSION_STATE
from dashboard.shared.session_state import status_of_session
from recorder.core.records import ORIGIN_TRANSLATED
from recorder.models import EventRecord, JournalEvent, LoopRecord, Session, ToolCall, Turn

READ = 800  # sampled events of a track, besides rare and failed ones
LOOPS = 400  # sampled loops, besides running and long ones
LONG = 200  # a loop is long if it has more than 1/LONG of the session's events
FAILED = 500
CHANGES = 1_000  # changes of the config inside loops that are drawn
EVENT = ("pk", "type", "occurred_at")
LOOP = (
    *("pk", "start_event", "end_event", "config", "config__slot", "is_selected", "status", "has_switched"),
)
KINDS = {
    "AgentStart": "loop",
    "TurnStart": "turn",
    "ToolExecutionStart": "tool",
    "ErrorRaised": "error",
    "InputRejected": "error",
    "ApprovalRequested": "approval",
    "CompactionStarted": "compaction",
    "ParallelLoopEnd": "winner",
}
RARE = tuple(name for name, kind in KINDS.items() if kind not in ("turn", "tool", "user"))

By = Literal["event", "turn", "loop"]
To = Literal["previous", "next"]
STEPS: Mapping[By, Q] = {
    "event": ~Q(type="MessageUpdate") & ~Q(origin=ORIGIN_TRANSLATED),
    "turn": Q(type="TurnEnd"),
    "loop": Q(type__in=("AgentStart", "AgentEnd")),
}


@dataclass(frozen=True, slots=True)
class Track:
    """The replay track of a session; root of the panel session/replay/track."""

    pk: int
    layout: Layout
    events: int
    is_running: bool
    outliers: int  # turns


@dataclass(frozen=True, slots=True)
class TrackSource:
    """The records that the track of a session is drawn from, except the events.

    Recorded events never change, and a session gains or loses none without a change of their number.
    """

    pk: int
    status: str
    events: int
    lines: int
    last: int | None  # event
    loops: tuple[LoopSpan, ...]
    failed: frozenset[int | None]  # events
    outliers: frozenset[int | None] = frozenset()  # events

    @property
    def fingerprint(self) -> str:
        """Return a digest of the source."""
        shown = (
            self.pk,
            self.status,
            self.events,
            self.lines,
            self.last,
            self.loops,
            sorted(self.failed, key=str),
            sorted(self.outliers, key=str),
        )
        return blake2b(repr(shown).encode(), digest_size=20).hexdigest()


def sources(pks: Collection[int]) -> Mapping[int, TrackSource]:
    """Return what tracks are drawn from, by session. One query, and two for each session."""
    return {
        session.pk: TrackSource(
            session.pk,
            status_of_session(session),
            session.events,
            session.lines or 0,
            session.last,
            tuple(_loop_spans(session)),
            frozenset(_failed_events(session.pk)),
            _outliers(session),
        )
        for session in _sessions(pks)
    }


def tracks(track_sources: Collection[TrackSource]) -> Mapping[int, Track]:
    """Return the replay tracks of sessions. One query for each."""
    return {source.pk: _track(source) for source in track_sources}


@compiled
def _sessions(pks: Collection[int]) -> QuerySet[Any]:
    every = EventRecord.objects.filter(session=OuterRef("pk")).order_by().values("session")
    sessions = Session.objects.filter(pk__in_list=pks).only("events", "loops", "turns", *SESSION_STATE)
    return sessions.annotate(
        lines=Subquery(every.annotate(n=Count("pk")).values("n")),
        last=Subquery(every.annotate(n=Max("pk")).values("n")),
    )


def step(session: int, since: int | None, by: By, to: To) -> int | None:
    """Return the adjacent event of a kind, from `since` or from the end; None if there is none. One query."""
    events = EventRecord.objects.filter(STEPS[by], session=session)
    if to == "next":
        ahead = events.filter(journal__gt=since).order_by("journal") if since is not None else events.none()
        return ahead.values_list("pk", flat=True).first()
    behind = events if since is None else events.filter(journal__lt=since)
    return behind.order_by("-journal").values_list("pk", flat=True).first()


def first_event(session: int) -> int | None:
    """Return the first event of the first loop of a session. One query."""
    begun: int | None = LoopRecord.objects.filter(session=session).aggregate(n=Min("start_event"))["n"]
    return begun


def _track(source: TrackSource) -> Track:
    failed, loops = source.failed, source.loops
    events: list[TrackEvent] = []
    every = -(-source.events // READ)
    marked = failed | source.outliers | {loop.since for loop in loops} | {None}
    rows = _sampled_events(source.pk, every, marked) if every > 1 else _events(source.pk)
    for pk, name, occurred in rows:
        at = occurred or (events[-1].at if events else _receive_time(pk))
        events.append(TrackEvent(pk, at, _kind(pk, name, source)))
    is_running, far_above = source.status == "running", len(source.outliers)
    return Track(source.pk, layout(events, loops), source.lines, is_running, far_above)


def _kind(event: int, name: str, source: TrackSource) -> str:
    if event in source.failed:
        return "error"
    return "outlier" if event in source.outliers else KINDS.get(name, "")


def _outliers(session: Any) -> frozenset[int | None]:
    """Return the ends of the turns of a session that are outliers of their loops."""
    if session.turns < outliers.LEAST_TURNS:
        return frozenset()
    return outliers.events_of(outliers.of_session(session.pk).values())


def _receive_time(event: int) -> datetime:
    at: datetime = JournalEvent.objects.values_list("received_at", flat=True).get(pk=event)
    return at


@compiled
def _failed_events(session: int) -> QuerySet[Any, int | None]:
    """Query the end events of failed tools and turns, at most FAILED."""
    tools = ToolCall.objects.filter(loop__session=session, state="failed")
    turns = Turn.objects.filter(loop__session=session).exclude(error="")
    ends = turns.values_list("end_event", flat=True)
    return tools.values_list("end_event", flat=True).union(ends)[:FAILED]


@compiled
def _events(session: int) -> QuerySet[EventRecord, tuple[Any, ...]]:
    rows = EventRecord.objects.filter(STEPS["event"], session=session)
    return rows.order_by("journal").values_list(*EVENT)


@compiled
def _sampled_events(
    session: int, every: int, marked: Collection[int | None]
) -> QuerySet[EventRecord, tuple[Any, ...]]:
    """Query every `every`-th event, and all that are marked or rare."""
    shown = Q(part=0) | Q(type__in=RARE) | Q(pk__in_list=marked)
    rows = EventRecord.objects.filter(STEPS["event"], session=session)
    rows = rows.annotate(part=F("journal_id") % every).filter(shown)
    return rows.order_by("journal").values_list(*EVENT)


@compiled
def _loops(session: int) -> QuerySet[LoopRecord, tuple[Any, ...]]:
    return LoopRecord.objects.filter(session=session, start_event__isnull=False).values_list(*LOOP)


@compiled
def _some_loops(session: int, every: int, events: int) -> QuerySet[LoopRecord, tuple[Any, ...]]:
    """Query every `every`-th loop, and all that are running or longer than `events` events."""
    is_long = Q(end_event__gt=F("start_event") + events)
    loops = LoopRecord.objects.filter(session=session, start_event__isnull=False)
    loops = loops.annotate(part=Window(RowNumber(), order_by="pk") % every)
    return loops.filter(Q(part=1) | Q(status="running") | is_long).values_list(*LOOP)


def _loop_spans(session: Any) -> list[LoopSpan]:
    every = -(-session.loops // LOOPS)
    rows = _some_loops(session.pk, every, session.events // LONG) if every > 1 else _loops(session.pk)
    changes: dict[int, list[tuple[int, int]]] = defaultdict(list)
    slots = {config: slot or 0 for _, _, _, config, slot, *_ in rows}
    for loop, event, config, slot in _config_changes([row[0] for row in rows if row[-1]]):
        changes[loop].append((event or 0, config))
        slots.setdefault(config, slot)
    drawn = dict(zip(slots, series_slots(slots.values()), strict=True))
    return [
        LoopSpan(
            start or 0,
            end if status != "running" else None,
            drawn[config],
            is_lost=chosen is False,
            changes=[(event, drawn[after]) for event, after in changes[pk]],
        )
        for pk, start, end, config, _, chosen, status, _ in rows
    ]


@compiled
def _config_changes(loops: Collection[int]) -> QuerySet[Turn, tuple[Any, ...]]:
    """Query the turns of loops that another config answered than the turn before, at most CHANGES."""
    ended = Turn.objects.filter(loop__in_list=loops, config__isnull=False)
    before = Window(Lag("config", default=F("loop__config")), partition_by="loop", order_by="ordinal")
    changed = ended.annotate(before=before).exclude(config=F("before"))
    event = Coalesce("start_event", "end_event")
    return changed.order_by("loop", "ordinal").values_list("loop", event, "config", "config__slot")[:CHANGES]
