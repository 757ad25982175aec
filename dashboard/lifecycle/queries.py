"""What a commit started, ended or left waiting, read from the records that its bell names."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet

from dashboard.web import links
from recorder.journal.producers import IMPORT_PREFIX
from recorder.models import Approval, EventRecord, LoopRecord, ParallelGroupRecord, Session

GROUP_KINDS = ("ParallelLoopStart", "ParallelLoopEnd")  # they lead to their session, not to one of many loops
RINGING = "normal"  # the role of loops that ring: branches, judges, passes and sub-agents do not
OLD = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class Whose:
    """The session that a ring is about, and where to see it."""

    project: int
    session_id: str
    url: str


@dataclass(frozen=True, slots=True)
class Event:
    """One event that may ring."""

    kind: str
    pk: int
    whose: Whose
    loop: int | None
    role: str
    outcome: str
    message_id: str
    waits: bool  # an approval of its session is open
    at: datetime


def events(lines: Collection[int]) -> list[Event]:
    """Return those moments that may ring, in recorded order; not what an import brings in of the past."""
    found = EventRecord.objects.filter(pk__in=lines, session__isnull=False, late=False)
    rows = found.select_related("session__project", "loop", "journal__producer").defer(
        "journal__own", "journal__pieces"
    )
    rows = rows.annotate(waits=Exists(_open_then()))
    return [_event(row, waits=row.waits) for row in rows.order_by("pk") if not _is_past(row)]


def groups(events: Collection[int]) -> dict[int, int]:
    """Return the groups that these events start or end, by event."""
    started = ParallelGroupRecord.objects.filter(start_event__in=events).values_list("start_event", "pk")
    ended = ParallelGroupRecord.objects.filter(end_event__in=events).values_list("end_event", "pk")
    return {event: pk for event, pk in [*started, *ended] if event is not None}


def running_loops() -> dict[int, Whose]:
    """Return the loops that ring and run now, by key."""
    found = LoopRecord.objects.filter(status="running", role=RINGING).select_related("session__project")
    return {loop.pk: _whose(loop.session, loop.pk) for loop in found}


def running_groups() -> dict[int, Whose]:
    """Return the groups that run now, by key."""
    found = ParallelGroupRecord.objects.filter(status="running").select_related("session__project")
    return {group.pk: _whose(group.session, None) for group in found}


def ended_loops(loops: Collection[int]) -> dict[int, str]:
    """Return the outcomes of those of `loops` that no longer run."""
    found = LoopRecord.objects.filter(pk__in=loops).exclude(status__in=("running", "pending"))
    return dict(found.values_list("pk", "outcome"))


def ended_groups(groups: Collection[int]) -> dict[int, str]:
    """Return those of `groups` that were cut off, as outcomes."""
    found = ParallelGroupRecord.objects.filter(pk__in=groups, status="aborted")
    return dict.fromkeys(found.values_list("pk", flat=True), "aborted")


def _open_then() -> QuerySet[Approval]:
    """Return the approvals that an event's session waited for at that event."""
    asked = Approval.objects.filter(session=OuterRef("session"), request_event__lt=OuterRef("pk"))
    return asked.filter(Q(resolve_event=None) | Q(resolve_event__gt=OuterRef("pk")))


def _event(row: EventRecord, *, waits: bool) -> Event:
    loop, session = row.loop, row.session
    assert session is not None
    return Event(
        kind=row.type,
        pk=row.pk,
        whose=_whose(session, None if row.type in GROUP_KINDS else row.loop_id),
        loop=row.loop_id,
        role=loop.role if loop else "",
        outcome=loop.outcome if loop else "",
        message_id=_message(loop.metadata if loop else None),
        waits=waits,
        at=row.occurred_at or row.journal.received_at,
    )


def _whose(session: Session, loop: int | None) -> Whose:
    slug = session.project.slug
    url = links.loop(slug, session.pk, loop) if loop else links.session(slug, session.pk)
    return Whose(session.project_id, session.session_id, url)


def _is_past(row: EventRecord) -> bool:
    received = row.journal.received_at
    is_import = row.journal.producer.name.startswith(IMPORT_PREFIX)
    return is_import and received - (row.occurred_at or received) > OLD


def _message(metadata: object) -> str:
    found = metadata.get("message_id") if isinstance(metadata, dict) else None
    return found if isinstance(found, str) else ""
