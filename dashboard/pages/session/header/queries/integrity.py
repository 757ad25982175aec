"""The integrity strip of a session: counts of anomalies, late, unknown, rejected and orphan events."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Min, Q, QuerySet, Sum

from dashboard.rendering.number_format import plural
from dashboard.shared.compiled_query import compiled
from dashboard.web import links
from recorder.core.sources import OTLP
from recorder.models import Anomaly, EventRecord, LoopRecord, QuarantinedLine, Session

SHOWN = 50


@dataclass(frozen=True, slots=True)
class AnomalyRow:
    """One anomaly."""

    kind: str
    text: str
    at: datetime
    url: str


@dataclass(frozen=True, slots=True)
class Tally:
    """The count of one kind of inconsistency in words, and the page that lists it."""

    words: str
    url: str


@dataclass(frozen=True, slots=True)
class IntegrityStrip:
    """The inconsistencies of a session and its producers; root of the panel session/header/integrity."""

    pk: int
    tallies: Sequence[Tally]
    anomalies: int
    shown: Sequence[AnomalyRow]
    integrity_url: str
    is_open: bool  # more may come: it runs, waits or is stale

    @property
    def is_clean(self) -> bool:
        return not self.anomalies and not self.tallies

    @property
    def more(self) -> int:
        return self.anomalies - len(self.shown)


def integrity_strips(pks: Collection[int]) -> Mapping[int, IntegrityStrip]:
    """Return the integrity strips of sessions. Five queries for one session."""
    strips = {}
    for session in _sessions(pks):
        slug = session.project.slug
        rows = _anomalies(session.pk) if session.n else []
        strips[session.pk] = IntegrityStrip(
            session.pk,
            list(_tallies(session)),
            session.n,
            [
                AnomalyRow(
                    _words(row.kind), row.text, row.at, links.event(slug, row.event) if row.event else ""
                )
                for row in rows
            ],
            links.integrity(slug),
            is_open=session.status == "running",
        )
    return strips


def _tallies(session: Session) -> Iterator[Tally]:
    slug, page = session.project.slug, links.integrity(session.project.slug)
    # Producer ids are read once: as a subquery they would be evaluated for each line.
    producers = _producers(session.pk)
    late, unknown = (sum(counts) for counts in zip((0, 0), *(row[1:] for row in producers), strict=True))
    # All spans of a project are one stream: what it lost or rejected is not of this session.
    named = [row[0] for row in producers] if session.source != OTLP else []
    if late:
        first = EventRecord.objects.filter(session=session.pk, late=True).aggregate(first=Min("pk"))["first"]
        yield Tally(plural(late, "late event"), links.event(slug, first) if first else page)
    if unknown:
        yield Tally(
            plural(unknown, "event of unknown type,events of unknown type"), links.session(slug, session.pk)
        )
    for conflicts, others in _refused_counts(session.project_id, named):
        if conflicts:
            yield Tally(
                plural(
                    conflicts, "line with a duplicate sequence number,lines with a duplicate sequence number"
                ),
                f"{page}#refused",
            )
        if others:
            yield Tally(plural(others, "rejected line"), f"{page}#refused")
    for orphans in _orphans(named):
        yield Tally(plural(orphans, "orphan event"), f"{page}#orphans")


@compiled
def _sessions(pks: Collection[int]) -> QuerySet[Any]:
    sessions = (
        Session.objects.filter(pk__in_list=pks).select_related("project").only("status", "project__slug")
    )
    return sessions.annotate(n=Count("anomalies"))


@compiled
def _anomalies(session: int) -> QuerySet[Anomaly]:
    return Anomaly.objects.filter(session=session).order_by("-pk")[:SHOWN]


@compiled
def _producers(session: int) -> QuerySet[LoopRecord, tuple[int, int, int]]:
    """Query a session's producers with their numbers of late events and of events of unknown type."""
    loops = LoopRecord.objects.filter(session=session).order_by().values("producer")
    return loops.annotate(n=Sum("late"), m=Sum("unknown")).values_list("producer", "n", "m")


@compiled
def _refused_counts(project: int, producers: Collection[int]) -> QuerySet[QuarantinedLine, tuple[int, int]]:
    """Count the lines with a duplicate sequence number, and the lines rejected for other reasons."""
    is_conflict = Q(code="seq_conflict")
    lines = QuarantinedLine.objects.filter(project=project, producer__in_list=producers)
    counted = (
        lines.order_by()
        .values("project")
        .annotate(conflicts=Count("pk", filter=is_conflict), others=Count("pk", filter=~is_conflict))
    )
    return counted.values_list("conflicts", "others")


@compiled
def _orphans(producers: Collection[int]) -> QuerySet[EventRecord, int]:
    waiting = EventRecord.objects.filter(loop=None, session=None, journal__producer__in_list=producers)
    counted = waiting.exclude(loop_key="").order_by().values("loop").annotate(n=Count("pk"))
    return counted.values_list("n", flat=True)


def _words(kind: str) -> str:
    return kind.replace("_", " ").capitalize()
