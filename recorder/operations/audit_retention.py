"""Retention of the audit log, apart from that of data: entries are kept forever, or for at least a year.

Entries that belong to no project, sign-ins among them, stay until they are older than the period of every
project; as long as one keeps its entries for ever, so do they. The entries of a project that is gone stay.
The database permits these deletions while a run of `AuditPruning` is open (`recorder.journal.immutability`).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from recorder.core.records import Json
from recorder.models import AuditEntry, AuditPruning, Project
from recorder.operations import audit
from recorder.operations.audit import Actor

LEAST_DAYS, MOST_DAYS = 365, 36_500
BATCH = 500  # entries of one transaction


def change(project: Project, days: int | None, actor: Actor) -> None:
    """Keep the entries of a project for a number of days, or for ever with None.

    Raises ValueError unless there are LEAST_DAYS to MOST_DAYS of them.
    """
    if days is not None and not LEAST_DAYS <= days <= MOST_DAYS:
        raise ValueError(f"entries are kept for {LEAST_DAYS} to {MOST_DAYS} days, or for ever")
    before, project.audit_days = project.audit_days, days
    with transaction.atomic():
        project.save(update_fields=["audit_days"])
        audit.record(project, actor, "audit.retention", project.slug, before=before, after=days)


def prune(project: Project, now: datetime, actor: Actor) -> int:
    """Delete the entries of a project that are older than it keeps them; return their number."""
    if project.audit_days is None:
        return 0
    return _prune(project, _before(now, project.audit_days), actor)


def prune_without_project(now: datetime, actor: Actor) -> int:
    """Delete the entries without a project that are older than every project keeps its own."""
    days = _longest_period()
    return 0 if days is None else _prune(None, _before(now, days), actor)


def preview(project: Project | None, now: datetime) -> int:
    """Return how many entries `prune` would delete, with None `prune_without_project`."""
    days = _longest_period() if project is None else project.audit_days
    return 0 if days is None else _old(project, _before(now, days)).count()


def _longest_period() -> int | None:
    """Return the days for which every project deletes its entries; None if one keeps them for ever."""
    periods = list(Project.objects.values_list("audit_days", flat=True))
    known = [days for days in periods if days is not None]
    return max(known) if known and len(known) == len(periods) else None


def _old(project: Project | None, before: datetime) -> QuerySet[AuditEntry]:
    return AuditEntry.objects.filter(project=project, at__lt=before).order_by("pk")


def _before(now: datetime, days: int) -> datetime:
    """Return the midnight (UTC) before which entries are deleted: the database's clock may be behind."""
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=days)


def _prune(project: Project | None, before: datetime, actor: Actor) -> int:
    """Delete entries in small transactions; a run that was interrupted is continued."""
    old = _old(project, before)
    open_run = AuditPruning.objects.filter(project=project, finished_at=None).first()
    if open_run is None and not old.exists():
        return 0
    run = open_run or AuditPruning(project=project)
    run.before = before
    run.save()
    while keys := list(old.values_list("pk", flat=True)[:BATCH]):
        with transaction.atomic():
            run.entries += AuditEntry.objects.filter(pk__in=keys).delete()[0]
            run.save(update_fields=["entries"])
    _finish(run, actor)
    return run.entries


def _finish(run: AuditPruning, actor: Actor) -> None:
    after: Json = {"entries": run.entries, "before": f"{run.before:%Y-%m-%d}"}
    with transaction.atomic():
        run.finished_at = timezone.now()
        run.save(update_fields=["finished_at"])
        slug = run.project.slug if run.project else ""
        audit.record(run.project, actor, "audit.prune", slug, after=after)
