"""The line of a session's events, and the events before and after one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from django.db.models import Count, F, Min, OuterRef, Q, QuerySet, Subquery, Window
from django.db.models.functions import RowNumber

from dashboard.replay.course import Course, Ran, Told, course
from recorder.models import EventRecord, JournalEvent, LoopRecord, Session, ToolCall, Turn

READ = 800  # events that a line is drawn of; of more, about so many, and all that is rare or failed
LOOPS = 400  # and of its loops, with those that run or are long
LONG = 200  # parts of a session: a loop as long as one is long
FAILED = 500
KINDS = {
    "AgentStart": "user",
    "TurnStart": "turn",
    "ToolExecutionStart": "tool",
    "ErrorRaised": "err",
    "InputRejected": "err",
    "ApprovalRequested": "wait",
    "CompactionStarted": "cmp",
    "ParallelLoopEnd": "win",
}
RARE = tuple(name for name, kind in KINDS.items() if kind not in ("turn", "tool", "user"))

By = Literal["event", "turn", "loop"]
To = Literal["previous", "next"]
STEPS: Mapping[By, Q] = {
    "event": ~Q(type="MessageUpdate") & ~Q(origin="told"),
    "turn": Q(type="TurnEnd"),
    "loop": Q(type__in=("AgentStart", "AgentEnd")),
}


@dataclass(frozen=True, slots=True)
class Track:
    """The line under a session; root of the panel session/track."""

    pk: int
    course: Course
    events: int
    is_running: bool


def tracks(pks: Collection[int]) -> Mapping[int, Track]:
    """Return the lines of sessions. One query, and three for each session."""
    every = EventRecord.objects.filter(session=OuterRef("pk")).order_by().values("session")
    sessions = Session.objects.filter(pk__in=pks).only("events", "loops", "status")
    sessions = sessions.annotate(lines=Subquery(every.annotate(n=Count("pk")).values("n")))
    return {session.pk: _track(session) for session in sessions}


def step(session: int, since: int | None, by: By, to: To) -> int | None:
    """Return the event to go to, from one or from the end. One query."""
    found = EventRecord.objects.filter(STEPS[by], session=session)
    if to == "next":
        ahead = found.filter(journal__gt=since).order_by("journal") if since is not None else found.none()
        return ahead.values_list("pk", flat=True).first()
    behind = found if since is None else found.filter(journal__lt=since)
    return behind.order_by("-journal").values_list("pk", flat=True).first()


def first_event(session: int) -> int | None:
    """Return the event with which the first loop of a session began. One query."""
    begun: int | None = LoopRecord.objects.filter(session=session).aggregate(n=Min("start_event"))["n"]
    return begun


def _track(session: Any) -> Track:
    rows = EventRecord.objects.filter(STEPS["event"], session=session.pk)
    failed, ran = _failed(session.pk), _ran(session)  # the first
    told: list[Told] = []
    marked = failed | {loop.since for loop in ran}
    for pk, name, occurred in _thinned(rows, session.events, marked).values_list("pk", "type", "occurred_at"):
        at = occurred or (told[-1].at if told else _received(pk))
        told.append(Told(pk, at, "err" if pk in failed else KINDS.get(name, "")))
    return Track(session.pk, course(told, ran), session.lines or 0, session.status == "running")


def _received(event: int) -> datetime:
    at: datetime = JournalEvent.objects.values_list("received_at", flat=True).get(pk=event)
    return at


def _failed(session: int) -> set[int | None]:
    """Return the events with which tools and turns failed."""
    tools = ToolCall.objects.filter(loop__session=session, state="failed").values_list("end_event")
    turns = Turn.objects.filter(loop__session=session).exclude(error="").values_list("end_event")
    return {event for (event,) in tools.union(turns)[:FAILED]}


def _thinned(rows: QuerySet[EventRecord], events: int, marked: set[int | None]) -> QuerySet[EventRecord]:
    every = -(-events // READ)
    if every > 1:
        shown = Q(part=0) | Q(type__in=RARE) | Q(pk__in=marked)
        rows = rows.annotate(part=F("journal_id") % every).filter(shown)
    return rows.order_by("journal")


def _ran(session: Session) -> list[Ran]:
    loops = LoopRecord.objects.filter(session=session, start_event__isnull=False)
    every = -(-session.loops // LOOPS)
    if every > 1:
        is_long = Q(end_event__gt=F("start_event") + session.events // LONG)
        loops = loops.annotate(part=Window(RowNumber(), order_by="pk") % every)
        loops = loops.filter(Q(part=1) | Q(status="running") | is_long)
    rows = loops.values_list("start_event", "end_event", "config__slot", "is_selected", "status")
    return [
        Ran(start or 0, end if status != "running" else None, slot or 8, is_lost=chosen is False)
        for start, end, slot, chosen, status in rows
    ]
