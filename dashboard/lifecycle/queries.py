"""Queries of the lifecycle stream: the events and records that an invalidation names."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from dashboard.shared.waste.queries.places import Place, of_lines
from dashboard.web import links
from recorder.core.event_time import happened_at
from recorder.journal.producers import IMPORT_PREFIX
from recorder.models import Approval, EventRecord, LoopRecord, ParallelGroupRecord, Session, Waste

ALARMS_AT_ONCE = 200
GROUP_KINDS = ("ParallelLoopStart", "ParallelLoopEnd")  # link to the session, not to one of many loops
ROOT_ROLE = "normal"  # loops with events; branches, judges, compactions and sub-agents have none
OLD = timedelta(minutes=2)  # age from which an imported event counts as past


@dataclass(frozen=True, slots=True)
class SessionLink:
    """A session, and the path of the page that shows the turn."""

    project: int
    session_id: str
    url: str


@dataclass(frozen=True, slots=True)
class Event:
    """One recorded event that may be a lifecycle event."""

    kind: str
    pk: int
    link: SessionLink
    loop: int | None
    role: str
    outcome: str
    message_id: str
    waits: bool  # an approval of its session was open at this event
    at: datetime


def events(lines: Collection[int]) -> list[Event]:
    """Return the events of `lines`, in recorded order, without orphans, late and imported past events."""
    records = EventRecord.objects.filter(pk__in=lines, session__isnull=False, late=False)
    rows = records.select_related("session__project", "loop", "journal__producer").defer(
        "journal__own", "journal__pieces"
    )
    rows = rows.annotate(waits=Exists(_open_then()))
    return [_event(row, waits=row.waits) for row in rows.order_by("pk") if not _is_past(row)]


@dataclass(frozen=True, slots=True)
class Alarm:
    """Waste that became an alarm lately."""

    link: SessionLink
    rule: str
    at: datetime


def alarms(wastes: Collection[int]) -> list[Alarm]:
    """Return the waste among `wastes` that is an alarm, in recorded order, without that of history.

    History is what was received or happened a while ago: what an upgrade finds, or an import. Three queries.
    """
    if not wastes:
        return []
    since = timezone.now() - OLD
    alarmed = Waste.objects.filter(pk__in=wastes, alarmed_at__gte=since, last_at__gte=since)
    rows = list(alarmed.order_by("alarm_line")[:ALARMS_AT_ONCE])
    sessions = Session.objects.select_related("project").in_bulk({row.session for row in rows})
    places = of_lines([row.alarm_line or 0 for row in rows])
    return [
        _alarm(row, sessions[row.session], places.get(row.alarm_line or 0))
        for row in rows
        if row.session in sessions and sessions[row.session].project_id == row.project_id  # not deleted
    ]


def _alarm(row: Waste, session: Session, place: Place | None) -> Alarm:
    link = _link(session, row.loop)
    if place is not None:
        link = replace(link, url=place.url(session.project.slug))
    return Alarm(link, row.rule, row.alarmed_at or row.last_at)


def groups(events: Collection[int]) -> dict[int, int]:
    """Return the groups that these events start or end, by event. Two queries."""
    started = ParallelGroupRecord.objects.filter(start_event__in=events).values_list("start_event", "pk")
    ended = ParallelGroupRecord.objects.filter(end_event__in=events).values_list("end_event", "pk")
    return {event: pk for event, pk in [*started, *ended] if event is not None}


def running_loops() -> dict[int, SessionLink]:
    """Return the running root loops by primary key."""
    running = LoopRecord.objects.filter(status="running", role=ROOT_ROLE).select_related("session__project")
    return {loop.pk: _link(loop.session, loop.pk) for loop in running}


def running_groups() -> dict[int, SessionLink]:
    """Return the running groups by primary key."""
    running = ParallelGroupRecord.objects.filter(status="running").select_related("session__project")
    return {group.pk: _link(group.session, None) for group in running}


def ended_loops(loops: Collection[int]) -> dict[int, str]:
    """Return the outcomes of those `loops` that ended."""
    ended = LoopRecord.objects.filter(pk__in=loops).exclude(status__in=("running", "pending"))
    return dict(ended.values_list("pk", "outcome"))


def ended_groups(groups: Collection[int]) -> dict[int, str]:
    """Return the outcome "aborted" for those `groups` that were cut off."""
    aborted = ParallelGroupRecord.objects.filter(pk__in=groups, status="aborted")
    return dict.fromkeys(aborted.values_list("pk", flat=True), "aborted")


def _open_then() -> QuerySet[Approval]:
    """Return the approvals of an event's session that were open at that event."""
    requested = Approval.objects.filter(session=OuterRef("session"), request_event__lt=OuterRef("pk"))
    return requested.filter(Q(resolve_event=None) | Q(resolve_event__gt=OuterRef("pk")))


def _event(row: EventRecord, *, waits: bool) -> Event:
    loop, session = row.loop, row.session
    assert session is not None
    return Event(
        kind=row.type,
        pk=row.pk,
        link=_link(session, None if row.type in GROUP_KINDS else row.loop_id),
        loop=row.loop_id,
        role=loop.role if loop else "",
        outcome=loop.outcome if loop else "",
        message_id=_message(loop.metadata if loop else None),
        waits=waits,
        at=happened_at(row.occurred_at, row.journal.received_at),
    )


def _link(session: Session, loop: int | None) -> SessionLink:
    slug = session.project.slug
    url = links.loop(slug, session.pk, loop) if loop else links.session(slug, session.pk)
    return SessionLink(session.project_id, session.session_id, url)


def _is_past(row: EventRecord) -> bool:
    received = row.journal.received_at
    is_import = row.journal.producer.name.startswith(IMPORT_PREFIX)
    return is_import and received - (row.occurred_at or received) > OLD


def _message(metadata: object) -> str:
    message_id = metadata.get("message_id") if isinstance(metadata, dict) else None
    return message_id if isinstance(message_id, str) else ""
