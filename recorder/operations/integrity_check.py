"""Integrity checks: the database file, the journal's sequence numbers, and records against the journal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import Case, Count, F, IntegerField, Model, OuterRef, QuerySet, Subquery, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce, Greatest, Least, Length
from django.utils import timezone

from recorder.core.costs.stated_costs import ROLE
from recorder.core.formats.registry import SETTLED
from recorder.core.records import ORIGIN_DERIVED
from recorder.core.sources import OTLP
from recorder.journal.delta.encoding import SourceSize, fault, sources
from recorder.models import (
    Approval,
    EventRecord,
    JournalEvent,
    LoopRecord,
    ParallelGroupRecord,
    Producer,
    QuarantinedLine,
    Session,
    ToolCall,
    Turn,
)

QUARANTINE_DAYS = 7
BATCH_LINES = 500
GROUP_EVENTS = ("ParallelLoopStart", "ParallelLoopEnd")  # they name a loop and belong to its group


def findings() -> Iterator[str]:
    """Yield one sentence for each inconsistency; nothing if the store is consistent."""
    yield from _database()
    yield from _numbers()
    yield from _encoded_lines()
    yield from _unfiled()
    yield from _loops()
    yield from _sessions()
    yield from _cycles()


def _database() -> Iterator[str]:
    """Run SQLite's integrity and foreign key checks. PostgreSQL has its own tools for this."""
    if connection.vendor != "sqlite":
        return
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA integrity_check(20)")
        yield from (f"database: {result}" for (result,) in cursor.fetchall() if result != "ok")
        cursor.execute("PRAGMA foreign_key_check")
        broken = cursor.fetchall()
    for table, row, parent, _ in broken[:20]:
        yield f"database: {table} row {row} refers to a row of {parent} that does not exist"
    if len(broken) > 20:
        yield f"database: {len(broken) - 20} more rows with broken references"


def _numbers() -> Iterator[str]:
    for producer in Producer.objects.order_by("pk").iterator():
        yield from _numbers_of(producer)


def _numbers_of(producer: Producer) -> Iterator[str]:
    name = f"producer {producer.name!r}"
    expected, dropped = 0, producer.dropped  # numbers without lines: their sessions were deleted
    since = timezone.now() - timedelta(days=QUARANTINE_DAYS)
    before = since  # when the line before the gap was received; unknown for the first line, which is checked
    for number, received_at in _recorded_numbers(producer):
        seq = number or 0
        missing = max(seq - expected, 0)
        if missing > dropped and before >= since:
            yield f"{name}: numbers {expected} to {seq - 1} are neither in the journal nor in quarantine"
        dropped -= min(missing, dropped)
        expected, before = max(expected, seq + 1), received_at
    if expected - 1 > producer.high:
        yield f"{name}: line {expected - 1} is stored above the high-water mark {producer.high}"
    if producer.high - (expected - 1) > dropped and before >= since:
        yield f"{name}: numbers {expected} to {producer.high} are neither in the journal nor in quarantine"


def _recorded_numbers(producer: Producer) -> Iterator[tuple[int | None, datetime]]:
    lines = JournalEvent.objects.filter(producer=producer, seq__isnull=False).values_list(
        "seq", "received_at"
    )
    refused = QuarantinedLine.objects.filter(producer=producer).values_list("seq", "received_at")
    return lines.union(refused, all=True).order_by("seq").iterator()


def _encoded_lines() -> Iterator[str]:
    """Check that every line can be restored: its sources are earlier lines of the same producer and day."""
    columns = ("pk", "producer_id", "received_at__date", "size", "pieces", "own_size")
    every = JournalEvent.objects.annotate(own_size=Length("own"))
    rows = every.filter(pruned_on=None).values_list(*columns).order_by("pk")
    last = 0
    while batch := list(rows.filter(pk__gt=last)[:BATCH_LINES]):
        last = batch[-1][0]
        needed = {source for row in batch for source in sources(row[0], row[4])}
        stored = {row[0]: row[1:] for row in rows.filter(pk__in=needed)}
        for line, producer, day, size, pieces, own in batch:
            near = {
                pk: SourceSize(stored[pk][2], stored[pk][4], stored[pk][3])
                for pk in sources(line, pieces)
                if stored.get(pk, ())[:2] == (producer, day)
            }
            if problem := fault(line, size, own, pieces, near):
                yield f"journal: line {line} cannot be restored: {problem}"


def _unfiled() -> Iterator[str]:
    lines = JournalEvent.objects.filter(kind="line", eventrecord__isnull=True)
    if count := lines.count():
        first = lines.order_by("pk").values_list("pk", flat=True).first()
        yield f"journal: {count} lines have no event record; the first is line {first}"


def _count(rows: QuerySet[Model], owner: str) -> Coalesce:
    counted = rows.filter(**{owner: OuterRef("pk")}).order_by().values(owner).annotate(n=Count("pk"))
    return Coalesce(Subquery(counted.values("n"), output_field=IntegerField()), 0)


def _loops() -> Iterator[str]:
    # A loop does not count lines recorded before its start (adopted orphans) nor the events of its group.
    rows = EventRecord.objects.exclude(type__in=GROUP_EVENTS).exclude(origin=ORIGIN_DERIVED)
    since_start = _count(rows.filter(pk__gte=OuterRef("start_event")), "loop")
    # A loop of spans, or of a transcript that shares lines, that was recorded again still counts the lines
    # since its first start.
    counted = Case(
        When(
            session__source__in=(OTLP, *SETTLED),
            then=Least(Greatest(F("events"), since_start), _count(rows, "loop")),
        ),
        default=since_start,
    )
    checks = {
        "events": counted,
        "turns": _count(Turn.objects.filter(state="done"), "loop"),
        "tool_calls": _count(ToolCall.objects.exclude(start_event=None), "loop"),
    }
    yield from _differences("loop", LoopRecord.objects.all(), checks)


def _sessions() -> Iterator[str]:
    checks = {
        "loops": _count(LoopRecord.objects.exclude(status="pending").exclude(role=ROLE), "session"),
        "open_loops": _count(LoopRecord.objects.filter(status="running"), "session"),
        "groups": _count(ParallelGroupRecord.objects.all(), "session"),
        "waiting": _count(Approval.objects.filter(resolved_at=None), "session"),
    }
    yield from _differences("session", Session.objects.all(), checks)


def _differences(what: str, rows: QuerySet[Model], checks: Mapping[str, Combinable]) -> Iterator[str]:
    for name, expected in checks.items():
        wrong = rows.annotate(found=expected).exclude(found=F(name)).order_by("pk")
        for row in wrong[:20].iterator():
            yield f"{what} {row.pk}: {name} is {getattr(row, name)}, but {row.found} rows exist"


def _cycles() -> Iterator[str]:
    parent_of = dict(LoopRecord.objects.exclude(parent=None).values_list("pk", "parent"))
    settled: set[int] = set()
    for start in parent_of:
        path: dict[int, None] = {}
        at: int | None = start
        while at is not None and at not in settled:
            if at in path:
                yield f"loop {at}: is its own ancestor"
                break
            path[at] = None
            at = parent_of.get(at)
        settled.update(path)
