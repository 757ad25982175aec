"""Retention: delete the bodies of old journal lines, and old quarantined lines, in small transactions.

A pruned line keeps its row with a fingerprint of its body; records and totals do not change. These lines keep
their bodies whatever their age: lines that are not consolidated, lines of pinned sessions, lines of running
loops and open groups or approvals, and every line that such a line is delta-encoded against.

Cost: each producer and day is read once, newest line first, so that when a line is examined every line that
may need it as a source has been examined already.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import partial

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from recorder.core.records import Json
from recorder.database import project_lock, sql
from recorder.journal import read
from recorder.journal.delta.encoding import sources
from recorder.journal.read import fingerprints
from recorder.journal.spans import without_record
from recorder.models import (
    EventRecord,
    JournalEvent,
    ParallelGroupRecord,
    Pin,
    Project,
    Pruning,
    QuarantinedLine,
)
from recorder.operations import audit
from recorder.projection import store
from recorder.pubsub import invalidation
from recorder.search import documents

BATCH_LINES = 500
BATCH_BYTES = 8 * 1024 * 1024  # of the lines of one transaction; a single line may be larger
NEWEST_DAYS = 2  # today and yesterday are never pruned: an incoming line may be encoded against their lines
DAY = timedelta(days=1)

OnProgress = Callable[[int], None]


def prune(project: Project, now: datetime, on_progress: OnProgress = lambda _: None) -> Pruning | None:
    """Delete bodies older than the project's retention; return None if the project keeps them for ever.

    `on_progress` is called with the number of lines that each transaction examined. An interrupted run is
    safe: every transaction leaves the journal consistent, and the next call continues.
    """
    if project.retention_days is None:
        return None
    before = _before(now, project.retention_days)
    done = Pruning(project=project, before=before)
    done.unconsolidated = _unread(project, before)
    for producer, day in _days(project, before):
        lines = _Day(project.pk, producer, day, now.astimezone(UTC).date(), done)
        for count in lines.prune():
            on_progress(count)
    done.finished_at = now
    with transaction.atomic():
        without_record.forget(project.pk, before)
        done.save()
        if done.lines:
            after: Json = {"lines": done.lines, "bytes": done.size, "before": f"{before:%Y-%m-%d}"}
            audit.record(project, audit.command("prune"), "retention.prune", project.slug, after=after)
    return done


def preview(project: Project, now: datetime) -> Pruning | None:
    """Return what `prune` would delete and keep, unsaved; None if the project keeps bodies for ever.

    It reads the rows that `prune` reads, and changes nothing.
    """
    if project.retention_days is None:
        return None
    before = _before(now, project.retention_days)
    found = Pruning(project=project, before=before)
    found.unconsolidated = _unread(project, before)
    for producer, day in _days(project, before):
        _Day(project.pk, producer, day, now.astimezone(UTC).date(), found).count()
    return found


def due(project: Project, now: datetime) -> int:
    """Return how many lines `prune` will examine."""
    if project.retention_days is None:
        return 0
    return old(project, now, project.retention_days).count()


def old(project: Project, now: datetime, days: int) -> QuerySet[JournalEvent]:
    """Return the lines with a body that are older than a retention of `days`, and consolidated."""
    return _old(project, _before(now, days)).filter(consolidated_at__isnull=False)


def old_quarantine(before: datetime) -> QuerySet[QuarantinedLine]:
    """Return the quarantined lines received before a time."""
    return QuarantinedLine.objects.filter(received_at__lt=before)


def prune_quarantine(before: datetime) -> int:
    """Delete quarantined lines received before a time; return their number."""
    old = old_quarantine(before).order_by("pk").values_list("pk", flat=True)
    count = 0
    while ids := list(old[:BATCH_LINES]):
        count += QuarantinedLine.objects.filter(pk__in=ids).delete()[0]
    return count


def _before(now: datetime, days: int) -> datetime:
    """Return the midnight (UTC) before which bodies are deleted.

    Lines are encoded against lines of their own day, so whole days are pruned.
    """
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today - max(days, NEWEST_DAYS - 1) * DAY


def _old(project: Project, before: datetime) -> QuerySet[JournalEvent]:
    return JournalEvent.objects.filter(project=project, received_at__lt=before, pruned_on=None, size__gt=0)


def _unread(project: Project, before: datetime) -> int:
    """Count the lines that wait for consolidation, without those of open loops, which are not due yet."""
    unread = _old(project, before).filter(consolidated_at=None)
    return unread.exclude(Exists(_open(EventRecord.objects.filter(pk=OuterRef("pk"))))).count()


def _days(project: Project, before: datetime) -> list[tuple[int, date]]:
    """Return the pairs of producer and day that have bodies to delete."""
    rows = _old(project, before).filter(consolidated_at__isnull=False)
    found = rows.order_by("producer", "received_at__date").values_list("producer", "received_at__date")
    return list(found.distinct())


@dataclass(slots=True)
class _Day:
    """The lines of one producer and day, examined from the last to the first.

    A line is encoded against earlier lines only, so all lines that may need it were examined before it.
    """

    project: int
    producer: int
    day: date
    today: date
    done: Pruning
    needed: set[int] = field(default_factory=set)  # sources of lines that stay

    def prune(self) -> Iterator[int]:
        """Delete bodies; yield the number of lines that each transaction examined."""
        for lines in self._chunks():
            stays = self.needed.union(_reasons(lines))
            # Restoring lines is slow: do it before the transaction takes the write lock.
            prints = fingerprints([line for line in lines if line not in stays])
            with transaction.atomic():
                project_lock.lock(self.project)
                # Decide again under the lock, when no pin or loop can change.
                if going := self._going(lines, prints):
                    self._delete(going, {line: prints[line] for line in going})
                    self._add(going)
            yield len(lines)

    def count(self) -> None:
        """Count what `prune` deletes and keeps."""
        for lines in self._chunks():
            self._add(self._going(lines, lines))

    def _chunks(self) -> Iterator[list[int]]:
        begin = datetime(self.day.year, self.day.month, self.day.day, tzinfo=UTC)
        rows = JournalEvent.objects.filter(
            producer=self.producer,
            received_at__gte=begin,
            received_at__lt=begin + DAY,
            size__gt=0,
            pruned_on=None,
        )
        return _chunks(rows.order_by("-pk").values_list("pk", "size"))

    def _going(self, lines: Sequence[int], readable: Collection[int]) -> dict[int, int]:
        """Return the lines whose bodies may go, with their bytes; count the others by their reason."""
        reasons = _reasons(lines)
        rows = JournalEvent.objects.filter(pk__in=lines, pruned_on=None).order_by("-pk")
        going: dict[int, int] = {}
        for line, size, pieces in rows.values_list("pk", "size", "pieces").iterator():
            may_go = line in readable and line not in self.needed
            why = reasons.get(line) or (None if may_go else "needed")
            if why is None:
                going[line] = size
                continue
            self.needed |= sources(line, pieces)
            if why != "unconsolidated":  # counted by _unread already, also on days without deletions
                setattr(self.done, why, getattr(self.done, why) + 1)
        return going

    def _add(self, going: Mapping[int, int]) -> None:
        self.done.lines += len(going)
        self.done.size += sum(going.values())

    def _delete(self, going: Mapping[int, int], prints: dict[int, bytes]) -> None:
        places = EventRecord.objects.filter(pk__in=going, session__isnull=False)
        of_sessions = places.values_list("session_id", flat=True).distinct()
        documents.remove_events(self.project, set(of_sessions), set(going))
        _delete_bodies(prints, self.today)
        touched = invalidation.Invalidation(self.project)
        for session, loop, turn in places.values_list("session_id", "loop_id", "turn_id").distinct():
            touched.sessions.add(session)
            if loop:
                touched.loops[loop] = session
            if turn:
                touched.turns[turn] = loop
        store.note_pruned(touched.sessions, self.today)
        transaction.on_commit(partial(invalidation.publish, touched))


def _chunks(rows: QuerySet[JournalEvent, tuple[int, int]]) -> Iterator[list[int]]:
    """Yield the keys of lines in batches of at most BATCH_LINES lines and about BATCH_BYTES bytes."""
    chunk: list[int] = []
    size = 0
    for line, more in list(rows):
        if chunk and (len(chunk) == BATCH_LINES or size + more > BATCH_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(line)
        size += more
    if chunk:
        yield chunk


def _reasons(lines: Sequence[int]) -> dict[int, str]:
    """Return, for each line that must keep its body, the reason."""
    unread = JournalEvent.objects.filter(pk__in=lines, consolidated_at=None).values_list("pk", flat=True)
    of_lines = EventRecord.objects.filter(pk__in=lines)
    return {
        **dict.fromkeys(unread, "unconsolidated"),
        **dict.fromkeys(_pinned(of_lines).values_list("pk", flat=True), "pinned"),
        **dict.fromkeys(_open(of_lines).values_list("pk", flat=True), "open"),
    }


def _pinned(places: QuerySet[EventRecord]) -> QuerySet[EventRecord]:
    pins = Pin.objects.filter(
        project=OuterRef("session__project"), session_id=OuterRef("session__session_id")
    )
    return places.filter(Exists(pins))


def _open(places: QuerySet[EventRecord]) -> QuerySet[EventRecord]:
    """Select the lines of running loops, and of sessions with an open group or approval."""
    groups = ParallelGroupRecord.objects.filter(session=OuterRef("session"), status="running")
    is_open = (
        Q(loop__status__in=("pending", "running"))
        | Q(loop=None, session__open_loops__gt=0)
        | Q(session__waiting__gt=0)
        | Q(Exists(groups))
    )
    return places.filter(is_open)


def _delete_bodies(prints: dict[int, bytes], today: date) -> None:
    statement = f"UPDATE {read.LINES} SET own = %s, pieces = NULL, pruned_on = %s WHERE id = %s"  # noqa: S608  names
    sql.write(statement, [(own, today, line) for line, own in prints.items()])
