"""Queries of notifications: open approvals, titles of sessions, muted rows of a user."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.utils import timezone

from dashboard.security.access import projects_of
from dashboard.shared.session_state import live
from dashboard.web import links
from recorder.models import Approval, Mute, Session

WAITING_SHOWN = 100  # newest open approvals


@dataclass(frozen=True, slots=True)
class Waiting:
    """An open approval; `event` is the event that requested it."""

    event: int
    url: str
    title: str


def waiting(user: User) -> list[Waiting]:
    """Return the newest open approvals of live sessions in a user's projects, oldest first. One query."""
    readable = Session.objects.filter(project__in=projects_of(user).values("pk"))
    waits = readable.filter(live(timezone.now()), waiting__gt=0)
    found = Approval.objects.filter(resolved_at=None, session__in=waits.values("pk"))
    rows = found.select_related("session__project").order_by("-request_event")[:WAITING_SHOWN]
    return [_waiting(row) for row in reversed(rows)]


def titles(user: User, sessions: Collection[int]) -> dict[int, str]:
    """Return the titles of those `sessions` that a user may read. One query."""
    readable = Session.objects.filter(pk__in=sessions, project__in=projects_of(user).values("pk"))
    return {row.pk: _title(row) for row in readable.only("title", "session_id")}


def muted(user: User) -> set[str]:
    """Return the keys of the policy rows that a user has muted. One query."""
    return set(Mute.objects.filter(user=user).values_list("row", flat=True))


def _waiting(row: Approval) -> Waiting:
    slug, session = row.session.project.slug, row.session
    url = links.loop(slug, session.pk, row.loop_id) if row.loop_id else links.session(slug, session.pk)
    return Waiting(row.request_event or row.pk, url, _title(session))


def _title(session: Session) -> str:
    return session.title.strip() or session.session_id
