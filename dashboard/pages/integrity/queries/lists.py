"""Rejected lines, orphan events, inconsistencies, and spans: how many, and lists page by page."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeAlias, TypeVar

from django.db.models import BinaryField, Model, OuterRef, QuerySet, Subquery
from django.db.models.functions import Substr
from django.utils import timezone

from dashboard.pages.integrity.params import LISTS, Filters
from dashboard.web import links
from dashboard.web.time_range import time_range
from recorder.core.content.text import clean
from recorder.journal.spans import without_record
from recorder.models import (
    AccessToken,
    Anomaly,
    EventRecord,
    JournalEvent,
    Producer,
    Project,
    QuarantinedLine,
    SpanUnit,
    WaitingSpans,
)
from recorder.operations import spans_set_aside

PAGE = 50
SHOWN_BYTES = 300

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class RejectedLine:
    """A line that was rejected at ingest."""

    pk: int
    producer: str
    seq: int
    code: str
    path: str
    message: str
    head: str  # first bytes of the line; unprintable ones are escaped
    size: int
    at: datetime

    @property
    def is_cut(self) -> bool:
        return self.size > SHOWN_BYTES


@dataclass(frozen=True, slots=True)
class Orphan:
    """An orphan event: its loop never started."""

    pk: int
    type: str
    loop_id: str
    producer: str
    seq: int | None
    at: datetime
    raw_url: str


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """An anomaly, and the session in which it happened."""

    pk: int
    kind: str
    text: str
    producer: str  # of its event; "" if none is known
    at: datetime
    session: str
    url: str


@dataclass(frozen=True, slots=True)
class SpansSetAside:
    """Acknowledged spans of one body that could not be read."""

    pk: int
    fault: str
    producer: str  # name of the token that sent them, "" if it is gone
    address: str
    size: int
    received_at: datetime
    at: datetime


@dataclass(frozen=True, slots=True)
class UnrecordedSpans:
    """Spans that changed no record, those of one trace or of some that belong together."""

    pk: int
    sender: str  # services, and scopes that emit them
    producer: str  # name of the token that sent the last one, "" if it is not known
    spans: int
    names: Sequence[str]  # of their attributes
    at: datetime


Row: TypeAlias = RejectedLine | Orphan | Inconsistency | SpansSetAside | UnrecordedSpans


@dataclass(frozen=True, slots=True)
class Source(Generic[M]):
    """One of the lists: its rows, the column of the reason, and what is shown of a row."""

    rows: Callable[[int], QuerySet[M]]  # of a project
    reason: str  # lookup of the reason
    at: str  # lookup of the time at which a row was recorded
    producer: str  # lookup of the producer's primary key
    producer_name: str  # lookup of its name
    detailed: Callable[[QuerySet[M]], QuerySet[M]]  # with what `shown` reads
    shown: Callable[[str, M], Row]  # slug of the project, row
    senders: type[Producer | AccessToken] = Producer  # the model that `producer` is a key of

    def matching(self, project: int, filters: Filters) -> QuerySet[M]:
        """Return the rows that match the filters, unordered."""
        rows = self.rows(project).filter(**time_range(filters, timezone.now()).within(self.at))
        if filters.reason:
            rows = rows.filter(**{f"{self.reason}__in": filters.reason})
        if filters.producer:
            named = self.senders.objects.filter(project=project, name__in=filters.producer)
            rows = rows.filter(**{f"{self.producer}__in": named.values("pk")})
        return rows


@dataclass(frozen=True, slots=True)
class ListPage:
    """A page of one list."""

    rows: Sequence[Row]
    older_url: str  # the next page; "" on the last one
    cleared: str  # link to the list without filters, "" if there are none


@dataclass(frozen=True, slots=True)
class Tile:
    """The number of rows of one list under the filters, and the link to them."""

    label: str
    count: int
    url: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class Counts:
    """The tiles of the lists; root of the panel integrity/counts."""

    tiles: Sequence[Tile]
    cleared: str  # link to the page without filters, "" if there are none

    @property
    def is_empty(self) -> bool:
        """Return whether no list has a row under the filters; an open list says so itself."""
        return not any(tile.count or tile.is_current for tile in self.tiles)


def counts(filters: Filters, projects: Collection[int]) -> Mapping[int, Counts]:
    """Return the tiles of projects. A query a list and one more for one project."""
    return {project: Counts(_tiles(project, filters), cleared(filters)) for project in slugs(projects)}


def _tiles(project: int, filters: Filters) -> Sequence[Tile]:
    return [
        Tile(
            label=LISTS[name],
            count=source.matching(project, filters).count(),
            url=filters.but(list="" if name == filters.list else name).query,
            is_current=name == filters.list,
        )
        for name, source in SOURCES.items()
    ]


def slugs(projects: Collection[int]) -> Mapping[int, str]:
    """Return the slugs of projects that exist. One query."""
    return dict(Project.objects.filter(pk__in=projects).values_list("pk", "slug"))


def list_page(project: int, slug: str, filters: Filters) -> ListPage:
    """Return a page of the list that the filters name, newest first. One query."""
    source = SOURCES[filters.list]
    rows = source.detailed(source.matching(project, filters))
    if filters.before is not None:
        rows = rows.filter(pk__lt=filters.before)
    found = list(rows.order_by("-pk")[: PAGE + 1])
    on_page = [source.shown(slug, row) for row in found[:PAGE]]
    older = filters.but(before=on_page[-1].pk).query if len(found) > PAGE else ""
    return ListPage(on_page, older, cleared(filters))


def cleared(filters: Filters) -> str:
    """Return the link without filters and with all times, "" if there are neither."""
    return Filters(list=filters.list).query if filters.is_narrow else ""


def reason_label(name: str, reason: str) -> str:
    """Return how a reason of the list `name` is written on pages."""
    return _kind(reason) if name == "inconsistencies" else clean(reason)


def readable(raw: bytes) -> str:
    """Return bytes as text; unprintable characters are escaped."""
    text = raw.decode(errors="backslashreplace")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _kind(kind: str) -> str:
    return clean(kind.replace("_", " ").capitalize())


def _rejected_line(_slug: str, row: QuarantinedLine) -> RejectedLine:
    return RejectedLine(
        row.pk,
        clean(row.producer.name),
        row.seq,
        row.code,
        clean(row.path),
        clean(row.message),
        readable(bytes(getattr(row, "head"))),  # noqa: B009  it was annotated
        row.size,
        row.received_at,
    )


def _orphan(slug: str, row: EventRecord) -> Orphan:
    return Orphan(
        row.pk,
        clean(row.type),
        row.loop_key,
        clean(row.journal.producer.name),
        row.journal.seq,
        row.journal.received_at,
        links.event_raw(slug, row.pk),
    )


def _inconsistency(slug: str, row: Anomaly) -> Inconsistency:
    return Inconsistency(
        row.pk,
        _kind(row.kind),
        clean(row.text),
        clean(getattr(row, "producer_name") or ""),  # noqa: B009  it was annotated
        row.at,
        (row.session.title or row.session.session_id) if row.session else "",
        links.event(slug, row.event) if row.event else "",
    )


def _spans(_slug: str, row: WaitingSpans) -> SpansSetAside:
    sender = clean(getattr(row, "sender") or "")  # noqa: B009  it was annotated
    at = row.set_aside_at or row.received_at
    return SpansSetAside(row.pk, clean(row.fault), sender, clean(row.address), row.size, row.received_at, at)


def _unrecorded_row(_slug: str, row: SpanUnit) -> UnrecordedSpans:
    token = clean(getattr(row, "token_name") or "")  # noqa: B009  it was annotated
    names = sorted(filter(None, row.unrecorded_names.split("\n")))
    sender, at = clean(row.unrecorded_sender), row.last_received_at
    return UnrecordedSpans(row.pk, sender, token, row.unrecorded_spans or 0, names, at)


def _of_event(column: str) -> Subquery:
    return Subquery(JournalEvent.objects.filter(pk=OuterRef("event")).values(column)[:1])


SOURCES: Mapping[str, Source] = {  # type: ignore[type-arg]
    "rejected": Source(
        lambda project: QuarantinedLine.objects.filter(project=project),
        "code",
        "received_at",
        "producer",
        "producer__name",
        lambda rows: (
            rows.select_related("producer")
            .defer("raw")
            .annotate(head=Substr("raw", 1, SHOWN_BYTES, output_field=BinaryField()))
        ),
        _rejected_line,
    ),
    "orphans": Source(
        lambda project: (
            EventRecord.objects.filter(journal__project=project, loop=None)
            .exclude(loop_key="")
            .exclude(without_record.SPAN_LINES)  # of the list `unrecorded`
        ),
        "type",
        "journal__received_at",
        "journal__producer",
        "journal__producer__name",
        lambda rows: rows.select_related("journal__producer").defer("journal__own", "journal__pieces"),
        _orphan,
    ),
    "inconsistencies": Source(
        lambda project: Anomaly.objects.filter(project=project).annotate(
            producer_key=_of_event("producer"), producer_name=_of_event("producer__name")
        ),
        "kind",
        "at",
        "producer_key",
        "producer_name",
        lambda rows: rows.select_related("session"),
        _inconsistency,
    ),
    "spans": Source(
        lambda project: spans_set_aside.found().filter(project=project),
        "fault",
        "set_aside_at",
        "token",
        "sender",
        lambda rows: rows,
        _spans,
        AccessToken,
    ),
    "unrecorded": Source(
        without_record.found,
        "unrecorded_sender",
        "last_received_at",
        "unrecorded_token",
        "token_name",
        lambda rows: rows,
        _unrecorded_row,
        AccessToken,
    ),
}
