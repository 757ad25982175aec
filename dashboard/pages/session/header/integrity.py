"""Whether all of a session was recorded and fits, for its integrity strip: what does not is counted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Min, Q, QuerySet, Sum

from dashboard.rendering.number_format import plural
from dashboard.shared.compiled_query import compiled
from dashboard.web import links
from recorder.models import Anomaly, EventRecord, LoopRecord, QuarantinedLine, Session

SHOWN = 50


@dataclass(frozen=True, slots=True)
class Trouble:
    """One anomaly."""

    kind: str
    text: str
    at: datetime
    url: str


@dataclass(frozen=True, slots=True)
class Tally:
    """How much there is of one kind of trouble, and where it is shown."""

    words: str
    url: str


@dataclass(frozen=True, slots=True)
class Troubles:
    """What a session and its producers have of each; root of the panel session/header/integrity."""

    pk: int
    tallies: Sequence[Tally]
    anomalies: int
    shown: Sequence[Trouble]
    integrity_url: str

    @property
    def is_clean(self) -> bool:
        return not self.anomalies and not self.tallies

    @property
    def more(self) -> int:
        return self.anomalies - len(self.shown)


def troubles(pks: Collection[int]) -> Mapping[int, Troubles]:
    """Return what does not fit in these sessions. Five queries for the one session of a page."""
    found = {}
    for session in _sessions(pks):
        slug = session.project.slug
        rows = _anomalies(session.pk) if session.n else []
        found[session.pk] = Troubles(
            session.pk,
            list(_tallies(session)),
            session.n,
            [
                Trouble(_words(row.kind), row.text, row.at, links.event(slug, row.event) if row.event else "")
                for row in rows
            ],
            links.integrity(slug),
        )
    return found


def _tallies(session: Session) -> Iterator[Tally]:
    slug, page = session.project.slug, links.integrity(session.project.slug)
    # A few producers, named once: a subquery would be asked for each line.
    producers = _producers(session.pk)
    late, unknown = (sum(counts) for counts in zip((0, 0), *(each[1:] for each in producers), strict=True))
    named = [each[0] for each in producers]
    if late:
        first = EventRecord.objects.filter(session=session.pk, late=True).aggregate(first=Min("pk"))["first"]
        yield Tally(f"{plural(late, 'event')} came late", links.event(slug, first) if first else page)
    if unknown:
        yield Tally(f"{plural(unknown, 'event')} of an unknown type", links.session(slug, session.pk))
    for conflicts, others in _refused(session.project_id, named):
        if conflicts:
            yield Tally(f"{plural(conflicts, 'line')} with the number of another", f"{page}#refused")
        if others:
            yield Tally(f"{plural(others, 'line')} refused", f"{page}#refused")
    for orphans in _orphans(named):
        yield Tally(f"{plural(orphans, 'event')} without a loop", f"{page}#orphans")


@compiled
def _sessions(pks: Collection[int]) -> QuerySet[Any]:
    sessions = Session.objects.filter(pk__in_list=pks).select_related("project").only("project__slug")
    return sessions.annotate(n=Count("anomalies"))


@compiled
def _anomalies(session: int) -> QuerySet[Anomaly]:
    return Anomaly.objects.filter(session=session).order_by("-pk")[:SHOWN]


@compiled
def _producers(session: int) -> QuerySet[LoopRecord, tuple[int, int, int]]:
    """Ask for a session's producers, and how many events of each are late or of an unknown type."""
    loops = LoopRecord.objects.filter(session=session).order_by().values("producer")
    return loops.annotate(n=Sum("late"), m=Sum("unknown")).values_list("producer", "n", "m")


@compiled
def _refused(project: int, producers: Collection[int]) -> QuerySet[QuarantinedLine, tuple[int, int]]:
    """Ask how many lines have the number of another, and how many were refused otherwise."""
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
