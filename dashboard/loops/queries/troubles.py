"""Whether all of a session was recorded and fits, for its integrity strip: what does not is counted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Min, Q, Sum

from dashboard import links
from dashboard.formats import plural
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
    """What a session and its producers have of each; root of the panel session/integrity."""

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
    """Return what does not fit in these sessions. Six queries for the one session of a page."""
    found = {}
    sessions = Session.objects.filter(pk__in=pks).select_related("project").only("project__slug")
    for session in sessions.annotate(n=Count("anomalies")):
        slug = session.project.slug
        rows = Anomaly.objects.filter(session=session.pk).order_by("-pk")[: SHOWN if session.n else 0]
        loops = LoopRecord.objects.filter(session=session.pk)
        counted = loops.aggregate(late=Sum("late"), unknown=Sum("unknown"))
        found[session.pk] = Troubles(
            session.pk,
            list(_tallies(session, counted)),
            session.n,
            [
                Trouble(_words(row.kind), row.text, row.at, links.event(slug, row.event) if row.event else "")
                for row in rows
            ],
            links.integrity(slug),
        )
    return found


def _tallies(session: Session, counted: Mapping[str, int | None]) -> Iterator[Tally]:
    slug, page = session.project.slug, links.integrity(session.project.slug)
    # A few producers, named once: a subquery would be asked for each line.
    producers = list(
        LoopRecord.objects.filter(session=session.pk).order_by().values_list("producer", flat=True).distinct()
    )
    mine = EventRecord.objects.filter(session=session.pk)
    if late := counted["late"]:
        first = mine.filter(late=True).aggregate(first=Min("pk"))["first"]
        yield Tally(f"{plural(late, 'event')} came late", links.event(slug, first) if first else page)
    if unknown := counted["unknown"]:
        yield Tally(f"{plural(unknown, 'event')} of an unknown type", links.session(slug, session.pk))
    refused = QuarantinedLine.objects.filter(project=session.project_id, producer__in=producers).aggregate(
        conflicts=Count("pk", filter=Q(code="seq_conflict")),
        others=Count("pk", filter=~Q(code="seq_conflict")),
    )
    if refused["conflicts"]:
        words = plural(refused["conflicts"], "line")
        yield Tally(f"{words} with the number of another", f"{page}#refused")
    if refused["others"]:
        yield Tally(f"{plural(refused['others'], 'line')} refused", f"{page}#refused")
    waiting = EventRecord.objects.filter(loop=None, session=None, journal__producer__in=producers)
    if orphans := waiting.exclude(loop_key="").count():
        yield Tally(f"{plural(orphans, 'event')} without a loop", f"{page}#orphans")


def _words(kind: str) -> str:
    return kind.replace("_", " ").capitalize()
