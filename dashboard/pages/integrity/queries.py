"""Rejected lines, orphan events and inconsistencies, with keyset pagination."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TypeVar

from django.db.models import BinaryField, Model, QuerySet
from django.db.models.functions import Substr

from dashboard.web import links
from recorder.core.content.text import clean
from recorder.models import Anomaly, EventRecord, Project, QuarantinedLine

PAGE = 50
SHOWN_BYTES = 300

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class Refused:
    """A rejected line."""

    pk: int
    producer: str
    seq: int
    code: str
    path: str
    message: str
    head: str  # its first bytes; unprintable ones are escaped
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
class Misfit:
    """An anomaly, and the session in which it happened."""

    pk: int
    kind: str
    text: str
    at: datetime
    session: str
    url: str


@dataclass(frozen=True, slots=True)
class Part:
    """A page of one of the three lists."""

    rows: Sequence[Refused | Orphan | Misfit]
    more: int | None  # primary key after which the next page starts


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of rows in the three lists; root of the panel integrity/counts."""

    refused: int
    orphans: int
    misfits: int

    @property
    def is_clean(self) -> bool:
        return not self.refused and not self.orphans and not self.misfits


def counts(projects: Collection[int]) -> Mapping[int, Counts]:
    """Return the counts of projects. Four queries for one project."""
    return {
        project: Counts(
            QuarantinedLine.objects.filter(project=project).count(),
            _orphans(project).count(),
            Anomaly.objects.filter(project=project).count(),
        )
        for project in Project.objects.filter(pk__in=projects).values_list("pk", flat=True)
    }


def first_pages(part: Callable[[int, str], Part], projects: Collection[int]) -> Mapping[int, Part]:
    """Return the first page of one list. Two queries for one project."""
    slugs = Project.objects.filter(pk__in=projects).values_list("pk", "slug")
    return {pk: part(pk, slug) for pk, slug in slugs}


def refused(project: int, _slug: str, before: int | None = None) -> Part:
    """Return rejected lines, newest first. One query."""
    rows = QuarantinedLine.objects.filter(project=project).select_related("producer").defer("raw")
    return _part(
        rows.annotate(head=Substr("raw", 1, SHOWN_BYTES, output_field=BinaryField())), before, _refused
    )


def orphans(project: int, slug: str, before: int | None = None) -> Part:
    """Return orphan events, newest first. One query."""
    rows = _orphans(project).select_related("journal__producer").defer("journal__own", "journal__pieces")
    return _part(rows, before, partial(_orphan, slug))


def misfits(project: int, slug: str, before: int | None = None) -> Part:
    """Return anomalies, newest first. One query."""
    rows = Anomaly.objects.filter(project=project).select_related("session")
    return _part(rows, before, partial(_misfit, slug))


def readable(raw: bytes) -> str:
    """Return bytes as text; unprintable characters are escaped."""
    text = raw.decode(errors="backslashreplace")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _orphans(project: int) -> QuerySet[EventRecord]:
    return EventRecord.objects.filter(journal__project=project, loop=None).exclude(loop_key="")


def _part(rows: QuerySet[M], before: int | None, shown: Callable[[M], Refused | Orphan | Misfit]) -> Part:
    found = list((rows if before is None else rows.filter(pk__lt=before)).order_by("-pk")[: PAGE + 1])
    on_page = [shown(row) for row in found[:PAGE]]
    return Part(on_page, on_page[-1].pk if len(found) > PAGE else None)


def _refused(row: QuarantinedLine) -> Refused:
    return Refused(
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


def _misfit(slug: str, row: Anomaly) -> Misfit:
    return Misfit(
        row.pk,
        row.kind.replace("_", " ").capitalize(),
        clean(row.text),
        row.at,
        (row.session.title or row.session.session_id) if row.session else "",
        links.event(slug, row.event) if row.event else "",
    )
