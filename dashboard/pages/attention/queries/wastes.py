"""Waste of a project that became an alarm lately, with each user's read markers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils import timezone

from dashboard.live.paged_list import Count, count
from dashboard.pages.attention.params import AttentionParams, Place
from dashboard.pages.attention.queries.filters import selected
from dashboard.shared.queries import attention
from dashboard.shared.waste.queries import places
from dashboard.shared.waste.queries.wastes import WasteRow, of_keys
from dashboard.web import links
from dashboard.web.keyset import Cursor
from recorder.models import Project, Session, Waste

PAGE = 20
MARKED_MAX = 5_000  # alarms marked by one request
COUNT_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Alarm:
    """One waste that became an alarm; `url` leads to the turn that made it one."""

    pk: int
    url: str
    title: str  # of the session
    agent: str
    waste: WasteRow
    at: datetime
    has_seen: bool


@dataclass(frozen=True, slots=True)
class Alarms:
    """A page of alarms, unread first; root of the panel attention/waste."""

    rows: Sequence[Alarm]
    total: Count
    unseen: Count
    more: AttentionParams | None  # the next page, None on the last one
    first_url: str
    newest: Cursor | None  # of all alarms: "mark all" leaves later ones unread
    seen_url: str

    @property
    def more_url(self) -> str:
        return self.more.query if self.more else ""


@dataclass(frozen=True, slots=True)
class AlarmsOf:
    """Query of the panel attention/waste of one project; its keys are users."""

    project: int
    params: AttentionParams

    def __call__(self, users: Collection[int]) -> Mapping[int, Alarms]:
        """Return the page of each user. Seven queries per user."""
        slug = Project.objects.values_list("slug", flat=True).get(pk=self.project)
        return {user: _alarms(self.project, slug, user, self.params) for user in users}


def unread(project: int, user: int, params: AttentionParams, *, upto: Cursor) -> Sequence[tuple[int, int]]:
    """Return loop and line of the alarms of the filters, up to a time, that are unread by the user.

    One query.
    """
    return _unread(_of_filters(project, params).filter(alarmed_at__lte=upto.at), user)


def unread_one(project: int, user: int, pk: int) -> Sequence[tuple[int, int]]:
    """Return loop and line of one alarm unless the user has read it. One query."""
    return _unread(_of_filters(project, AttentionParams()).filter(pk=pk), user)


def _unread(found: QuerySet[Waste], user: int) -> Sequence[tuple[int, int]]:
    rows = found.filter(~attention.is_waste_read_by(user)).order_by("-alarmed_at")
    return [(loop, line or 0) for loop, line in rows.values_list("loop", "alarm_line")[:MARKED_MAX]]


def _alarms(project: int, slug: str, user: int, params: AttentionParams) -> Alarms:
    every, after = _of_filters(project, params), params.waste
    rows = every.annotate(has_seen=attention.is_waste_read_by(user))
    if after is not None:
        rows = rows.filter(_after(after))
    found = list(rows.order_by("has_seen", "-alarmed_at", "-pk")[: PAGE + 1])
    more = _end(found[PAGE - 1]) if len(found) > PAGE else None
    newest = every.order_by("-alarmed_at").values_list("alarmed_at", "pk").first()
    return Alarms(
        _rows(slug, found[:PAGE]),
        total=count(every, COUNT_MAX),
        unseen=count(every.filter(~attention.is_waste_read_by(user)), COUNT_MAX),
        more=params.but(waste=more) if more else None,
        first_url=params.but().query,
        newest=Cursor(*newest) if newest else None,
        seen_url=links.mark_failures_read(slug),
    )


def _rows(slug: str, found: Sequence[Waste]) -> list[Alarm]:
    """Return alarms with their sessions, costs and places; one whose session is deleted is left out."""
    sessions = Session.objects.in_bulk([waste.session for waste in found])
    wastes = of_keys([waste.pk for waste in found])
    at = places.of_lines([waste.alarm_line or 0 for waste in found])
    rows = []
    for waste in found:
        session, row = sessions.get(waste.session), wastes.get(waste.pk)
        if session is None or row is None or waste.alarmed_at is None:
            continue
        place = at.get(waste.alarm_line or 0)
        url = place.url(slug) if place else links.loop(slug, session.pk, waste.loop)
        title, agent = session.title or session.session_id, waste.agent_id or session.agent_id
        has_seen = bool(getattr(waste, "has_seen", False))
        rows.append(Alarm(waste.pk, url, title, agent, row, waste.alarmed_at, has_seen))
    return rows


def _of_filters(project: int, params: AttentionParams) -> QuerySet[Waste]:
    found = attention.alarms(project, timezone.now())
    return found.filter(session__in=selected(project, params)) if params.has_sessions else found


def _after(place: Place) -> Q:
    at, pk = place.cursor.at, place.cursor.pk
    later = Q(alarmed_at__lt=at) | Q(alarmed_at=at, pk__lt=pk)
    return Q(has_seen=place.has_seen) & later | (Q() if place.has_seen else Q(has_seen=True))


def _end(waste: Waste) -> Place:
    return Place(bool(getattr(waste, "has_seen", False)), Cursor(waste.alarmed_at, waste.pk))
