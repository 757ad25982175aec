"""Masks what is stored already by the rules of today: the journal, rejected lines, and all that is derived.

A row of `MaskingHistory` is open while it runs; only then the database permits the changes of lines. The
lines of a producer and day are rewritten in one transaction, so a run may be interrupted, and `run` goes on
with it: what is masked already stays as it is. At last the records are derived again, in one transaction with
the entry of the audit log.

The records of a project with pruned bodies cannot be derived again. Their texts are masked where they stand:
those of the sessions of changed lines with these lines, those of sessions with pruned bodies at last.

Notes are masked at last, too: they were masked by the rules of the day on which they were written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.db import connection, transaction
from django.utils import timezone

from recorder.database import project_lock
from recorder.journal.removal import masks
from recorder.masking import counts as mask_counts
from recorder.masking.masker import Masker
from recorder.masking.project_rules import masker_of
from recorder.models import Deletion, JournalEvent, MaskingHistory, Project
from recorder.notes.masking import mask_notes
from recorder.operations import audit
from recorder.operations.audit import Actor
from recorder.projection import masking
from recorder.projection.rebuild import DeletionPending, rebuild
from recorder.search import documents

OnProgress = Callable[[int], None]
Listener = Callable[[int, Masker], None]
_listeners: list[Listener] = []


def subscribe(listener: Listener) -> None:
    """Call `listener` with a project and its masker to mask what other parts hold of recorded text."""
    if listener not in _listeners:
        _listeners.append(listener)


def check(project: Project) -> None:
    """Raise DeletionPending if lines of a project are being deleted."""
    if Deletion.objects.filter(project=project, finished_at=None).exists():
        raise DeletionPending(project)


def lines(project: Project) -> int:
    """Return how many rows of the journal a run reads."""
    return JournalEvent.objects.filter(project=project, size__gt=0, pruned_on=None).count()


@dataclass(slots=True)
class Preview:
    """A preview of a run: lines, values in them by rule, records that it masks in place, and notes."""

    lines: int
    counts: Counter[str]
    records: int
    notes: int


@dataclass(slots=True)
class Done:
    """The result of a run, with that of its earlier parts: as in `MaskingHistory`, and notes."""

    lines: int
    rows: int
    rejected: int
    records: int
    notes: int
    counts: Mapping[str, int]


def preview(project: Project, on_progress: OnProgress = lambda _: None) -> Preview:
    """Return what `run` would change; nothing is written."""
    masker, lines, counts = masker_of(project.pk), 0, Counter[str]()
    records: masking.Changed = set()
    for day in masks.days(project.pk):
        found = masks.count_day(day, masker, on_progress)
        lines, counts = lines + found.lines, counts + found.counts
        if _has_pruned(project):
            records |= _mask_records_of(project, found, masker, write=False)
    if _has_pruned(project):
        records |= _mask_other_records(project, masker, write=False)
    return Preview(lines, counts, len(records), mask_notes(project.pk, masker, write=False))


def run(project: Project, actor: Actor, on_progress: OnProgress = lambda _: None) -> Done:
    """Mask what is stored of a project, or go on with a run that was interrupted.

    `on_progress` is called with the number of rows examined. Raises DeletionPending before anything is
    changed.
    """
    check(project)
    masker = masker_of(project.pk)
    done = _begin(project, actor)
    _overwrite_old_bytes()
    for day in masks.days(project.pk):
        with transaction.atomic():
            project_lock.lock(project.pk)
            found = masks.mask_day(day, masker, on_progress)
            done.lines += found.lines
            done.rows += found.rows
            done.counts = dict(Counter(done.counts) + found.counts)
            mask_counts.add(project.pk, timezone.now().date(), found.counts)
            if found.changed and _has_pruned(project):
                done.records += len(_mask_records_of(project, found, masker, write=True))
            done.save(update_fields=["lines", "rows", "counts", "records"])
    notes = _finish(project, actor, masker, done)
    return Done(done.lines, done.rows, done.rejected, done.records, notes, done.counts)


def _finish(project: Project, actor: Actor, masker: Masker, done: MaskingHistory) -> int:
    """Mask all that is not a line, in the transaction of the audit entry; return the number of notes."""
    with transaction.atomic():
        project_lock.lock(project.pk)
        done.rejected += masks.mask_quarantine(project.pk, masker)
        is_pruned = _has_pruned(project)
        if is_pruned:
            done.records += len(_mask_other_records(project, masker, write=True))
            masks.mask_states(project.pk, masker)
        notes = mask_notes(project.pk, masker, write=True)
        if done.rows or done.records:
            documents.forget(project.pk) if is_pruned else rebuild(project)
            for listener in _listeners:
                listener(project.pk, masker)
        done.finished_at = timezone.now()
        done.save(update_fields=["rejected", "records", "finished_at"])
        after: dict[str, int] = {"lines": done.lines, "rejected": done.rejected, **done.counts}
        if is_pruned:
            after["records"] = done.records
        if notes:
            after["notes"] = notes
        audit.record(project, actor, "masking.history", project.slug, after={**after})
    return notes


def _begin(project: Project, actor: Actor) -> MaskingHistory:
    with transaction.atomic():
        project_lock.lock(project.pk)
        found = MaskingHistory.objects.filter(project=project, finished_at=None).first()
        return found or MaskingHistory.objects.create(
            project=project, requested_by=actor.name, started_at=timezone.now()
        )


def _has_pruned(project: Project) -> bool:
    return JournalEvent.objects.filter(project=project, pruned_on__isnull=False).exists()


def _mask_records_of(project: Project, found: masks.Found, masker: Masker, *, write: bool) -> masking.Changed:
    """Mask the records of the sessions of changed lines, whose secrets are still known."""
    secrets, sessions = masking.Secrets(found.secrets), masking.sessions_of(found.changed)
    return masking.mask_sessions(project.pk, sessions, masker, secrets, write=write)


def _mask_other_records(project: Project, masker: Masker, *, write: bool) -> masking.Changed:
    """Mask the records of sessions with pruned bodies, and those of no session."""
    sessions = masking.pruned_sessions(project.pk)
    changed = masking.mask_sessions(project.pk, sessions, masker, write=write)
    return changed | masking.mask_project(project.pk, masker, write=write)


def _overwrite_old_bytes() -> None:
    """Have SQLite overwrite with zeros what this connection replaces; PostgreSQL needs VACUUM for that."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA secure_delete = ON")
