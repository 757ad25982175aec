"""A session as it was at a recorded event: its lines up to that one, fed again, and nothing stored.

Sub-agents are folded to the same event, so what they had cost by then can be added. The keys are those that
the records have now.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import NamedTuple, cast

from django.db.models import Max, QuerySet

from recorder import pricebook
from recorder.core.changes import (
    Approval,
    Change,
    ChildRef,
    Group,
    Loop,
    ModelConfig,
    Origin,
    Record,
    Regrouped,
    Removed,
    Session,
    Spent,
)
from recorder.core.events import Event, MessageUpdate, SourceEvent
from recorder.core.formats import Refused
from recorder.core.formats.native import NO_LIMITS, parse
from recorder.core.memory import Memory
from recorder.core.recorder import Line, Recorder
from recorder.journal import SOURCES
from recorder.lines import Pruned, texts
from recorder.models import EventRecord, JournalEvent, LoopRecord, ParallelGroupRecord, Producer
from recorder.models import ModelConfig as ConfigRow
from recorder.models import Session as SessionRow

LINES = 200  # read at once: a line may have megabytes
MOST_SESSIONS = 200  # sub-agents of sub-agents that are folded with a session


@dataclass(slots=True)
class Past:
    """The records of some sessions at one event."""

    sessions: list[Session] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    refs: list[ChildRef] = field(default_factory=list)
    approvals: list[Approval] = field(default_factory=list)


class _Row(NamedTuple):
    """A line and where it belongs."""

    pk: int
    producer: int
    received_at: datetime
    origin: str
    type: str
    loop_id: str | None
    loop_key: str
    session_id: str | None
    occurred_at: datetime | None


COLUMNS = (
    *("pk", "journal__producer_id", "journal__received_at", "origin", "type"),
    *("loop__loop_id", "loop_key", "session__session_id", "occurred_at"),
)


class NotOfSession(Exception):
    """The event is none of the session's, or came before the session began."""


def fold(session: SessionRow, at: int) -> Past:
    """Return a session and its sub-agents as they were at an event. Queries only.

    Raises NotOfSession, or Pruned when the lines that it would be folded from are not whole.
    """
    of_session = EventRecord.objects.filter(session=session, journal=at, journal__project=session.project_id)
    if not of_session.exists():
        raise NotOfSession
    sessions = _with_sub_agents(session.pk)
    day = SessionRow.objects.filter(pk__in=sessions).aggregate(day=Max("pruned_on"))["day"]
    if day is not None:
        raise Pruned(day)
    records = _fed(session.project_id, sessions, at)
    _give_keys(session.project_id, sessions, records)
    past = Past()
    for record in records:
        match record:
            case Session():
                past.sessions.append(record)
            case Loop():
                past.loops.append(record)
            case ChildRef():
                past.refs.append(record)
            case Approval():
                past.approvals.append(record)
            case _:
                pass
    if not any(each.id == session.pk for each in past.sessions):
        raise NotOfSession
    return past


def _with_sub_agents(session: int) -> list[int]:
    """Return a session and those below it, as they are linked now."""
    known, frontier = {session: None}, [session]
    while frontier and len(known) < MOST_SESSIONS:
        below = SessionRow.objects.filter(parent__session__in=frontier).order_by("pk")
        frontier = [pk for pk in below.values_list("pk", flat=True)[:MOST_SESSIONS] if pk not in known]
        known |= dict.fromkeys(frontier)
    return list(known)


def _fed(project: int, sessions: Collection[int], at: int) -> list[Record]:
    """Return the records that the lines up to an event make."""
    recorder = Recorder(Memory(prices=pricebook.known(project)))
    records: dict[Record, None] = {}
    for told in _told(sessions, at):
        changes = recorder.feed(told) if isinstance(told, Line) else recorder.flush(*told)
        _keep(records, changes)
    return list(records)


def _keep(records: dict[Record, None], changes: list[Change]) -> None:
    for change in changes:
        if isinstance(change, Removed):
            records.pop(change.record, None)
        elif not isinstance(change, Spent | Regrouped):
            records.setdefault(change)


def _told(sessions: Collection[int], at: int) -> Iterator[Line | tuple[int, datetime, int]]:
    """Return lines and flushes in recorded order."""
    rows = EventRecord.objects.filter(session__in=sessions, journal__lte=at).order_by("pk")
    producers = {
        pk: (name, is_demo)
        for pk, name, is_demo in _producers(sessions).values_list("pk", "format", "is_demo")
    }
    flushes = JournalEvent.objects.filter(producer__in=producers, kind="flush", pk__lte=at).order_by("pk")
    waiting = deque(flushes.values_list("producer_id", "received_at", "pk"))
    for row, raw in _with_lines(rows):
        while waiting and waiting[0][2] < row.pk:
            yield waiting.popleft()
        yield _line(row, raw, *producers[row.producer])
    yield from waiting


def _with_lines(rows: QuerySet[EventRecord]) -> Iterator[tuple[_Row, bytes]]:
    """Return rows and what their lines say, some at a time; of streamed text that is not read."""
    found = rows.values_list(*COLUMNS).iterator(2_000)
    while some := [_Row(*row) for row in islice(found, LINES)]:
        raws = texts([row.pk for row in some if not _is_update(row)])
        for row in some:
            yield row, raws.get(row.pk, b"")


def _producers(sessions: Collection[int]) -> QuerySet[Producer]:
    told = EventRecord.objects.filter(session__in=sessions).values("journal__producer")
    return Producer.objects.filter(pk__in=told)


def _line(row: _Row, raw: bytes, form: str, is_demo: bool) -> Line:  # noqa: FBT001  as its row has it
    source = SOURCES.get(form, form)
    event = _event(row, raw, form)
    return Line(row.pk, row.producer, row.received_at, source, event, is_demo, cast("Origin", row.origin))


def _event(row: _Row, raw: bytes, form: str) -> Event:
    """Return what a line says; a foreign one that others retell only stands where it stood."""
    if _is_update(row):
        return _update(row.loop_id or "")
    if form == "native" or row.origin == "read":
        try:
            return parse(raw, limits=NO_LIMITS)
        except Refused:
            pass
    return SourceEvent.model_construct(
        source=form,
        name=row.type,
        loop_id=row.loop_id or row.loop_key or None,
        session_id=row.session_id,
        timestamp=row.occurred_at,
        understood=row.origin in ("told", "kept"),
    )


def _is_update(row: _Row) -> bool:
    return (
        row.type == "MessageUpdate" and row.loop_id is not None
    )  # most are, and no record keeps what they say


@lru_cache(maxsize=64)
def _update(loop_id: str) -> MessageUpdate:
    return MessageUpdate.model_construct(loop_id=loop_id, message=None, delta=None)


def _give_keys(project: int, sessions: Collection[int], records: Collection[Record]) -> None:
    """Give records the keys that they have now."""
    named = dict(SessionRow.objects.filter(pk__in=sessions).values_list("session_id", "pk"))
    of_groups = ParallelGroupRecord.objects.filter(session__in=sessions)
    groups = {(session, n): pk for session, n, pk in of_groups.values_list("session_id", "ordinal", "pk")}
    of_loops = LoopRecord.objects.filter(session__in=sessions)
    rows = of_loops.values_list("session_id", "loop_id", "run", "pk")
    loops = {(session, loop_id, run): pk for session, loop_id, run, pk in rows}
    configs = dict(ConfigRow.objects.filter(project=project).values_list("key", "pk"))
    for record in records:
        if isinstance(record, Session):
            record.id = named.get(record.session_id, 0)
    for record in records:
        match record:
            case ModelConfig():
                record.id = configs.get(record.key, 0)
            case Group():
                record.id = groups.get((record.session.id, record.ordinal), 0)
            case Loop():
                record.id = loops.get((record.session.id, record.loop_id, record.run), 0)
            case _:
                pass
