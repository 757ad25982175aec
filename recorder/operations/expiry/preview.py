"""A preview of what `prune` would remove of a project, counted without changing anything."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q, QuerySet, Sum

from recorder.models import EventRecord, Note, Project, Pruning, Session
from recorder.operations import audit_retention, retention
from recorder.operations.expiry import notes, periods, records


@dataclass(frozen=True, slots=True)
class Removal:
    """The items that would go now: bodies (None: kept for ever), sessions with lines, notes, entries."""

    content: Pruning | None
    sessions: int
    lines: int  # of these sessions; bodies that would go before are among them
    size: int  # bytes of these lines as they were recorded
    notes: int  # and scores and bookmarks, without those of these sessions
    entries: int  # of the audit log


def preview(project: Project, now: datetime) -> Removal:
    """Return what the periods of a project would remove now."""
    going = _sessions(project, now)
    of_sessions = EventRecord.objects.filter(session__in=going, journal__kind="line")
    lines = of_sessions.aggregate(number=Count("pk"), size=Sum("journal__size"))
    return Removal(
        content=retention.preview(project, now),
        sessions=going.count(),
        lines=lines["number"],
        size=lines["size"] or 0,
        notes=_notes(project, now, going).count(),
        entries=audit_retention.preview(project, now),
    )


def _sessions(project: Project, now: datetime) -> QuerySet[Session]:
    days = periods.days_of(project, "records")
    return Session.objects.none() if days is None else records.older(project, periods.before(now, days))


def _notes(project: Project, now: datetime, going: QuerySet[Session]) -> QuerySet[Note]:
    days = periods.days_of(project, "notes")
    if days is None:
        return Note.objects.none()
    roots = notes.older(project, periods.before(now, days))
    roots = roots.exclude(session_id__in=going.values("session_id"))
    return Note.objects.filter(Q(pk__in=roots.values("pk")) | Q(parent__in=roots.values("pk")))
