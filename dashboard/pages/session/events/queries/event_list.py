"""Lists recorded events: one row each, streaming deltas collapsed, in keyset pages.

Pages are addressed by event id, so new events never shift a page. Streaming deltas are not rows: each row
counts the deltas between it and the previous row of the same list. Cost: three queries for a page and two for
its rows; bodies larger than SUMMED_BYTES are not read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import (
    BigIntegerField,
    Count,
    Exists,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
)
from django.db.models.functions import Coalesce

from dashboard.notes.queries.counts import NoteCount, of_events
from dashboard.pages.session.event_filters import DELTA, SESSION, EventFilters
from dashboard.pages.session.events.bodies import Object, decode
from dashboard.pages.session.events.summaries import summary, tick
from dashboard.web import links
from recorder.core.content.text import clean
from recorder.core.formats.native import EVENT_TYPES
from recorder.core.records import ORIGIN_SILENT, ORIGIN_TRANSLATED
from recorder.journal.read import texts
from recorder.models import EventRecord, JournalEvent, ToolCall, Turn

PAGE = 100
SUMMED_BYTES = 256 * 1024  # larger lines are listed without a summary
DELTAS_SHOWN = 500

TYPES = {
    "turns": ("AgentStart", "AgentEnd", "TurnStart", "TurnRequest", "TurnEnd"),
    "tools": ("ToolExecutionStart", "ToolExecutionUpdate", "ToolExecutionEnd", "ProgressMessage"),
}
FAILURES = ("ErrorRaised", "InputRejected")


@dataclass(frozen=True, slots=True)
class EventRow:
    """One recorded event; root of the panel session/events/event."""

    pk: int
    into: str
    after: int  # the previous event in its list, 0 for the first
    deltas: int  # streaming deltas directly before it
    deltas_url: str
    sequence: int | None
    offset: timedelta | None
    at: datetime
    is_received: bool
    type: str
    tick: str
    summary: str
    size: int
    masked: int  # values that are masked in its line
    loop: str  # id of its loop, in lists of several loops
    late: bool
    is_unknown: bool
    url: str
    raw_url: str
    text_url: str
    pruned_on: date | None
    as_of: str  # URL of the session as of this event
    notes: NoteCount | None  # anchored here
    notes_url: str

    @property
    def order(self) -> int:
        return self.pk

    @property
    def offset_words(self) -> str:
        """Return the time since the start of the loop, as "+20.902s"."""
        return f"{self.offset.total_seconds():+.3f}s" if self.offset is not None else ""


@dataclass(frozen=True, slots=True)
class Delta:
    """One streaming delta; `raw_url` is "" if its body was pruned."""

    at: datetime
    text: str
    raw_url: str = ""


@dataclass(frozen=True, slots=True)
class Window:
    """A page of events, and the bounds of the adjacent pages, None if there are none."""

    pks: Sequence[int]
    earlier: int | None
    later: int | None


@dataclass(frozen=True, slots=True)
class Scope:
    """Selects the events of a list: of a loop, or with `loop` 0 of a session; of some kinds and types."""

    session: int
    loop: int
    kinds: tuple[str, ...] = ()  # any of KINDS
    types: tuple[str, ...] = ()

    @property
    def is_filtered(self) -> bool:
        return bool(self.kinds or self.types)

    @property
    def rows(self) -> QuerySet[EventRecord]:
        events = EventRecord.objects.exclude(type=DELTA).exclude(origin=ORIGIN_TRANSLATED)
        events = events.filter(loop=self.loop) if self.loop else events.filter(session=self.session)
        events = events.filter(type__in=self.types) if self.types else events
        return events.filter(_of_kinds(self.kinds))

    @property
    def container(self) -> str:
        return f"session-events-{self.loop}" if self.loop else f"session-events-all-{self.session}"

    def __call__(self, pks: Collection[int]) -> Mapping[int, EventRow]:
        """Return the rows among `pks` that are in this list; the query of the panel session/events/event."""
        return rows(self, pks)


def scope_of(session: int, loop: int, filters: EventFilters) -> Scope:
    """Return the list that the filters select: of the loop, or of all loops."""
    return Scope(session, 0 if filters.scope == SESSION else loop, filters.kind, filters.type)


def window(
    scope: Scope, *, before: int | None = None, after: int | None = None, around: int | None = None
) -> Window:
    """Return a page: the newest events, or those before, after or around an event. Three queries."""
    if after is not None:
        pks = list(scope.rows.filter(pk__gt=after).order_by("pk").values_list("pk", flat=True)[:PAGE])
    elif around is not None:
        upper = scope.rows.filter(pk__gte=around).order_by("pk").values_list("pk", flat=True)[: PAGE // 2]
        lower = scope.rows.filter(pk__lt=around).order_by("-pk").values_list("pk", flat=True)[: PAGE // 2]
        pks = sorted([*lower, *upper])
    else:
        earlier = scope.rows if before is None else scope.rows.filter(pk__lt=before)
        pks = sorted(earlier.order_by("-pk").values_list("pk", flat=True)[:PAGE])
    if not pks:
        return Window((), None, None)
    has_earlier = scope.rows.filter(pk__lt=pks[0]).exists()
    has_later = scope.rows.filter(pk__gt=pks[-1]).exists()
    return Window(pks, pks[0] if has_earlier else None, pks[-1] if has_later else None)


def between(scope: Scope, first: int, last: int | None) -> list[int]:
    """Return at most PAGE event ids from `first` up to `last` or the newest, the last of them. One query."""
    shown = scope.rows.filter(pk__gte=first)
    bounded = shown if last is None else shown.filter(pk__lte=last)
    return list(bounded.order_by("-pk").values_list("pk", flat=True)[:PAGE])[::-1]


def rows(scope: Scope, pks: Collection[int]) -> Mapping[int, EventRow]:
    """Return events as rows. Three queries."""
    begun = JournalEvent.objects.filter(pk=OuterRef("loop__start_event"))
    event_records = (
        scope.rows.filter(pk__in=pks)
        .annotate(previous=_previous(scope))
        .annotate(deltas=_deltas(scope), begun=Subquery(begun.values("received_at")))
        .select_related("loop", "session__project", "journal__project")
        .defer("journal__own", "journal__pieces")
    )
    bodies = texts([record.pk for record in event_records if record.journal.size <= SUMMED_BYTES])
    noted = _note_counts(event_records)
    return {
        record.pk: _row(
            scope,
            record,
            _Read(bodies.get(record.pk), record.previous, record.deltas, record.begun, noted.get(record.pk)),
        )
        for record in event_records
    }


def _note_counts(event_records: Iterable[EventRecord]) -> Mapping[int, NoteCount]:
    shown = {record.pk: record.session for record in event_records}
    session = next(filter(None, shown.values()), None)
    return of_events(session.project_id, session.session_id, shown) if session else {}


def deltas(scope: Scope, before: int, slug: str) -> Sequence[Delta]:
    """Return the streaming deltas directly before an event. Two queries."""
    previous = _or_zero(scope.rows.filter(pk__lt=before).order_by("-pk").values("pk")[:1])
    streaming = EventRecord.objects.filter(_same(scope), type=DELTA, pk__lt=before, pk__gt=previous)
    columns = ("pk", "occurred_at", "journal__received_at")
    shown = list(streaming.order_by("pk").values_list(*columns)[:DELTAS_SHOWN])
    raws = texts([pk for pk, _, _ in shown])
    return [
        Delta(at or received, summary(DELTA, decode(raws[pk])), links.event_raw(slug, pk))
        if pk in raws
        else Delta(at or received, "pruned")
        for pk, at, received in shown
    ]


def _or_zero(query: QuerySet[EventRecord, Any]) -> Coalesce:
    return Coalesce(Subquery(query, output_field=BigIntegerField()), Value(0), output_field=BigIntegerField())


def _same(scope: Scope) -> Q:
    return Q(loop=scope.loop) if scope.loop else Q(session=scope.session)


def _previous(scope: Scope) -> Coalesce:
    return _or_zero(scope.rows.filter(pk__lt=OuterRef("pk")).order_by("-pk").values("pk")[:1])


def _deltas(scope: Scope) -> Coalesce | Value:
    """Count the deltas between an event and the previous one; 0 in filtered lists, which have gaps anyway."""
    if scope.is_filtered:
        return Value(0)
    between = EventRecord.objects.filter(
        _same(scope), type=DELTA, pk__lt=OuterRef("pk"), pk__gt=OuterRef("previous")
    )
    return _or_zero(between.order_by().values("type").annotate(n=Count("pk")).values("n"))


def _of_kinds(kinds: Collection[str]) -> Q:
    """Return the condition that an event is of one of the kinds; without kinds every event is."""
    where = Q()
    for kind in kinds:
        where |= Q(type__in=TYPES[kind]) if kind in TYPES else _is_error()
    return where


def _is_error() -> Q:
    failed_tools = ToolCall.objects.filter(state="failed", end_event__isnull=False, end_event=OuterRef("pk"))
    failed_turns = Turn.objects.exclude(error="").filter(end_event=OuterRef("pk"))
    return Q(type__in=FAILURES) | Q(Exists(failed_tools)) | Q(Exists(failed_turns))


@dataclass(frozen=True, slots=True)
class _Read:
    """Values that the query adds to an event."""

    body: bytes | None  # None if it is too large for a summary, or pruned
    previous: int
    deltas: int
    begun: datetime | None  # receive time of the start of its loop
    notes: NoteCount | None


def _row(scope: Scope, record: EventRecord, read: _Read) -> EventRow:
    event = decode(read.body) if read.body is not None else {}
    slug = record.journal.project.slug
    has_url = read.deltas > 0 and scope.loop > 0
    at = record.occurred_at or record.journal.received_at
    # Receive times are compared with receive times only: an import receives an hour of events at once.
    started = read.begun if record.occurred_at is None else record.loop.started_at if record.loop else None
    return EventRow(
        pk=record.pk,
        into=scope.container,
        after=read.previous,
        deltas=read.deltas,
        deltas_url=links.loop_deltas(slug, scope.session, scope.loop, record.pk) if has_url else "",
        sequence=record.sequence,
        offset=at - started if started else None,
        at=at,
        is_received=record.occurred_at is None,
        type=clean(record.type),
        tick=tick(record.type, event),
        summary=_summary(record, event, read.body),
        size=record.journal.size,
        masked=record.journal.masked or 0,
        loop=record.loop.loop_id if record.loop and not scope.loop else "",
        late=record.late,
        is_unknown=record.type not in EVENT_TYPES and record.origin != ORIGIN_SILENT,
        url=links.event(slug, record.pk),
        raw_url=links.event_raw(slug, record.pk),
        text_url=links.event_text(slug, record.pk, ""),
        pruned_on=record.journal.pruned_on,
        as_of=links.as_of(slug, scope.session, record.pk, loop=record.loop_id, tab="events"),
        notes=read.notes,
        notes_url=links.note_page(slug, read.notes.first) if read.notes else "",
    )


def _summary(record: EventRecord, event: Object, body: bytes | None) -> str:
    if record.journal.pruned_on is not None:
        return ""
    return summary(record.type, event) if body is not None else "too large for a summary"
