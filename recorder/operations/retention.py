"""Retention: delete the bodies of old journal lines, and old quarantined lines, in small transactions.

A pruned line keeps its row with a fingerprint of its body; records and totals do not change. These lines keep
their bodies whatever their age: lines that are not consolidated, lines of pinned sessions, lines of running
loops and open groups or approvals, and every line that such a line is delta-encoded against.

Cost: each producer and day is read once, newest line first, so that when a line is examined every line that
may need it as a source has been examined already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import partial

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from recorder.database import sql
from recorder.journal import append
from recorder.journal.delta.encoding import sources
from recorder.journal.read import fingerprints
from recorder.models import (
    EventRecord,
    JournalEvent,
    ParallelGroupRecord,
    Pin,
    Project,
    Pruning,
    QuarantinedLine,
)
from recorder.projection import store
from recorder.pubsub import invalidation

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
    done.save()
    return done


def due(project: Project, now: datetime) -> int:
    """Return how many lines `prune` will examine."""
    if project.retention_days is None:
        return 0
    return _old(project, _before(now, project.retention_days)).filter(consolidated_at__isnull=False).count()


def prune_quarantine(before: datetime) -> int:
    """Delete quarantined lines received before a time; return their number."""
    old = QuarantinedLine.objects.filter(received_at__lt=before).order_by("pk").values_list("pk", flat=True)
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
        begin = datetime(self.day.year, self.day.month, self.day.day, tzinfo=UTC)
        rows = JournalEvent.objects.filter(
            producer=self.producer,
            received_at__gte=begin,
            received_at__lt=begin + DAY,
            size__gt=0,
            pruned_on=None,
        )
        for lines in _chunks(rows.order_by("-pk").values_list("pk", "size")):
            stays = self.needed.union(_reasons(lines))
            # Restoring lines is slow: do it before the transaction takes the write lock.
            prints = fingerprints([line for line in lines if line not in stays])
            with transaction.atomic():
                append.lock(self.project)
                self._prune(lines, prints)
            yield len(lines)

    def _prune(self, lines: Sequence[int], prints: dict[int, bytes]) -> None:
        """Decide again under the lock, when no pin or loop can change, and delete what may go."""
        reasons = _reasons(lines)
        rows = JournalEvent.objects.filter(pk__in=lines, pruned_on=None).order_by("-pk")
        going: dict[int, int] = {}
        for line, size, pieces in rows.values_list("pk", "size", "pieces").iterator():
            may_go = line in prints and line not in self.needed
            why = reasons.get(line) or (None if may_go else "needed")
            if why is None:
                going[line] = size
                continue
            self.needed |= sources(line, pieces)
            if why != "unconsolidated":  # counted by _unread already, also on days without deletions
                setattr(self.done, why, getattr(self.done, why) + 1)
        if going:
            self._delete(going, {line: prints[line] for line in going})

    def _delete(self, going: dict[int, int], prints: dict[int, bytes]) -> None:
        _delete_bodies(prints, self.today)
        self.done.lines += len(going)
        self.done.size += sum(going.values())
        places = EventRecord.objects.filter(pk__in=going, session__isnull=False)
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
    statement = f"UPDATE {append.LINES} SET own = %s, pieces = NULL, pruned_on = %s WHERE id = %s"  # noqa: S608  names
    sql.write(statement, [(own, today, line) for line, own in prints.items()])
