"""The periods of a project: for how many days content, records, notes and the audit log are kept.

Each is kept for ever unless a period is set, but content, which is kept for 30 days. `preview` says what a
period would delete at the next run of `prune`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.db.models import Count, Min

from recorder.models import AuditEntry, Project
from recorder.operations import audit, audit_retention, retention
from recorder.operations.audit import Actor
from recorder.operations.expiry import notes, records

MOST_DAYS = 36_500


@dataclass(frozen=True, slots=True)
class Period:
    """One kind of data: the column of its period, the least days, and the word for one item, and several."""

    column: str
    least_days: int
    word: str


PERIODS: Mapping[str, Period] = {
    "content": Period("retention_days", 1, "line"),
    "records": Period("record_days", 7, "session"),
    "notes": Period("note_days", 7, "entry,entries"),
    "audit": Period("audit_days", audit_retention.LEAST_DAYS, "entry,entries"),
}


@dataclass(frozen=True, slots=True)
class Going:
    """The items that a period deletes: how many, and the time of the oldest."""

    number: int
    oldest: datetime | None


def days_of(project: Project, kind: str) -> int | None:
    """Return for how many days a kind of data is kept, None for ever."""
    days: int | None = getattr(project, PERIODS[kind].column)
    return days


def before(now: datetime, days: int) -> datetime:
    """Return the midnight (UTC) before which data of a period of `days` is deleted."""
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=days)


def check(kind: str, days: int | None) -> None:
    """Raise ValueError unless a kind of data may be kept for so many days; None is for ever."""
    least = PERIODS[kind].least_days
    if days is not None and not least <= days <= MOST_DAYS:
        raise ValueError(f"Enter {least} to {MOST_DAYS} days, or nothing to keep it forever.")


def is_shorter(project: Project, kind: str, days: int | None) -> bool:
    """Return whether a period deletes more than the one that is set."""
    now = days_of(project, kind)
    return days is not None and (now is None or days < now)


def change(project: Project, kind: str, days: int | None, actor: Actor) -> None:
    """Keep a kind of data for a number of days, or for ever with None. Raises ValueError."""
    check(kind, days)
    if kind == "audit":
        audit_retention.change(project, days, actor)
        return
    was = days_of(project, kind)
    setattr(project, PERIODS[kind].column, days)
    target = project.slug if kind == "content" else f"{project.slug} {kind}"
    with transaction.atomic():
        project.save(update_fields=[PERIODS[kind].column])
        audit.record(project, actor, "retention.change", target, before=was, after=days)


def preview(project: Project, kind: str, days: int | None, now: datetime) -> Going:
    """Return what a period would delete now. One query."""
    if days is None:
        return Going(0, None)
    until = before(now, days)
    if kind == "content":
        rows = retention.old(project, now, days).aggregate(number=Count("pk"), oldest=Min("received_at"))
    elif kind == "records":
        rows = records.older(project, until).aggregate(number=Count("pk"), oldest=Min("last_event_at"))
    elif kind == "notes":
        rows = notes.older(project, until).aggregate(number=Count("pk"), oldest=Min("created_at"))
    else:
        entries = AuditEntry.objects.filter(project=project, at__lt=until)
        rows = entries.aggregate(number=Count("pk"), oldest=Min("at"))
    return Going(rows["number"], rows["oldest"])
