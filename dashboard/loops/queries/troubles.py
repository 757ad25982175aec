"""What did not fit in a session, for its integrity strip."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count

from dashboard import links
from recorder.models import Anomaly, LoopRecord, QuarantinedLine, Session

SHOWN = 50


@dataclass(frozen=True, slots=True)
class Trouble:
    """One anomaly."""

    kind: str
    text: str
    at: datetime
    url: str


@dataclass(frozen=True, slots=True)
class Troubles:
    """A session's anomalies and its producers' refused lines; root of the panel session/integrity."""

    pk: int
    anomalies: int
    shown: Sequence[Trouble]
    quarantined: int
    integrity_url: str

    @property
    def is_clean(self) -> bool:
        return not self.anomalies and not self.quarantined

    @property
    def more(self) -> int:
        return self.anomalies - len(self.shown)


def troubles(pks: Collection[int]) -> Mapping[int, Troubles]:
    """Return what did not fit in these sessions. Three queries for the one session of a page."""
    found = {}
    sessions = Session.objects.filter(pk__in=pks).select_related("project").annotate(n=Count("anomalies"))
    for session in sessions:
        slug = session.project.slug
        rows = Anomaly.objects.filter(session=session.pk).order_by("-pk")[:SHOWN]
        producers = LoopRecord.objects.filter(session=session.pk).values("producer")
        found[session.pk] = Troubles(
            session.pk,
            session.n,
            [
                Trouble(_words(row.kind), row.text, row.at, links.event(slug, row.event) if row.event else "")
                for row in rows
            ],
            QuarantinedLine.objects.filter(project=session.project_id, producer__in=producers).count(),
            links.integrity(slug),
        )
    return found


def _words(kind: str) -> str:
    return kind.replace("_", " ").capitalize()
