"""What is kept for a time only goes: bodies of old lines, and refused lines. A few in each transaction.

A line's row stays, with a fingerprint of its body, and so do all records and totals. What stays whole: lines
that are not consolidated, those of pinned sessions and of what is open, and all that these are made of.
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

AT_ONCE = 500  # lines
BYTES = 8 * 1024 * 1024  # of the lines of one transaction; a single line may be larger
NEWEST_DAYS = 2  # today and yesterday: a line that comes now may be made of theirs
DAY = timedelta(days=1)

Step = Callable[[int], None]


def prune(project: Project, now: datetime, step: Step = lambda _: None) -> Pruning | None:
    """Take the bodies that are older than the project keeps them; None if it keeps them for good.

    Broken off anywhere, nothing is lost that must stay, and the next call goes on.
    """
    if project.retention_days is None:
        return None
    before = _before(now, project.retention_days)
    done = Pruning(project=project, before=before)
    done.unconsolidated = _unread(project, before)
    for producer, day in _days(project, before):
        lines = _Day(project.pk, producer, day, now.astimezone(UTC).date(), done)
        for taken in lines.prune():
            step(taken)
    done.finished_at = now
    done.save()
    return done


def due(project: Project, now: datetime) -> int:
    """Return how many lines `prune` will look at."""
    if project.retention_days is None:
        return 0
    return _old(project, _before(now, project.retention_days)).filter(consolidated_at__isnull=False).count()


def prune_quarantine(before: datetime) -> int:
    """Delete refused lines that were received before a time; return how many."""
    old = QuarantinedLine.objects.filter(received_at__lt=before).order_by("pk").values_list("pk", flat=True)
    count = 0
    while ids := list(old[:AT_ONCE]):
        count += QuarantinedLine.objects.filter(pk__in=ids).delete()[0]
    return count


def _before(now: datetime, days: int) -> datetime:
    """Return the midnight before which bodies go: lines are made of others of their day, so days go whole."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today - max(days, NEWEST_DAYS - 1) * DAY


def _old(project: Project, before: datetime) -> QuerySet[JournalEvent]:
    return JournalEvent.objects.filter(project=project, received_at__lt=before, pruned_on=None, size__gt=0)


def _unread(project: Project, before: datetime) -> int:
    """Return how many lines wait for consolidation, which leaves alone what is open."""
    unread = _old(project, before).filter(consolidated_at=None)
    return unread.exclude(Exists(_open(EventRecord.objects.filter(pk=OuterRef("pk"))))).count()


def _days(project: Project, before: datetime) -> list[tuple[int, date]]:
    """Return the producers and days of which bodies may go."""
    rows = _old(project, before).filter(consolidated_at__isnull=False)
    found = rows.order_by("producer", "received_at__date").values_list("producer", "received_at__date")
    return list(found.distinct())


@dataclass(slots=True)
class _Day:
    """The lines of a producer's day, gone through from the last to the first.

    Lines are made of earlier ones only: when a line is looked at, all that may need it were looked at before.
    """

    project: int
    producer: int
    day: date
    today: date
    done: Pruning
    needed: set[int] = field(default_factory=set)  # by lines that stay

    def prune(self) -> Iterator[int]:
        """Take bodies; yield how many lines each transaction looked at."""
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
            prints = fingerprints([line for line in lines if line not in stays])  # while nobody waits for us
            with transaction.atomic():
                append.lock(self.project)
                self._prune(lines, prints)
            yield len(lines)

    def _prune(self, lines: Sequence[int], prints: dict[int, bytes]) -> None:
        """Decide of lines anew, now that nobody can pin or open anything, and take what goes."""
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
            if why != "unconsolidated":  # these were counted, also of days that nothing goes of
                setattr(self.done, why, getattr(self.done, why) + 1)
        if going:
            self._take(going, {line: prints[line] for line in going})

    def _take(self, going: dict[int, int], prints: dict[int, bytes]) -> None:
        _forget(prints, self.today)
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
    """Give the keys of lines, some at a time that together are not too large."""
    chunk: list[int] = []
    size = 0
    for line, more in list(rows):
        if chunk and (len(chunk) == AT_ONCE or size + more > BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(line)
        size += more
    if chunk:
        yield chunk


def _reasons(lines: Sequence[int]) -> dict[int, str]:
    """Return why lines stay, of those that do."""
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
    """Narrow to the lines of loops that run, and of sessions with an open group or approval."""
    groups = ParallelGroupRecord.objects.filter(session=OuterRef("session"), status="running")
    is_open = (
        Q(loop__status__in=("pending", "running"))
        | Q(loop=None, session__open_loops__gt=0)
        | Q(session__waiting__gt=0)
        | Q(Exists(groups))
    )
    return places.filter(is_open)


def _forget(prints: dict[int, bytes], today: date) -> None:
    statement = f"UPDATE {append.LINES} SET own = %s, pieces = NULL, pruned_on = %s WHERE id = %s"  # noqa: S608  names
    sql.write(statement, [(own, today, line) for line, own in prints.items()])
