"""Database queries of the members page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Count, Max

from recorder.models import AccessToken, Membership, Project
from recorder.operations.people import invites

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from django.contrib.auth.models import User

SHOWN = 1_000


@dataclass(frozen=True, slots=True)
class Member:
    """One member of the project."""

    pk: int
    username: str
    name: str
    email: str
    role: str
    seen_at: datetime | None
    is_active: bool
    tokens: int  # tokens that stop working when the member is removed
    is_reader: bool


@dataclass(frozen=True, slots=True)
class Invited:
    """An invite that was not used or withdrawn."""

    pk: int
    email: str
    role: str
    made_by: str
    made_at: datetime
    expires_at: datetime
    has_ended: bool  # expired, or its maker may no longer invite


def members(project: Project, reader: User) -> Sequence[Member]:
    """Return the members by name, `SHOWN` at most. Two queries."""
    valid = AccessToken.objects.filter(project=project, revoked_at=None, created_by__isnull=False)
    counts = dict(valid.order_by().values_list("created_by").annotate(n=Count("pk")))
    rows = Membership.objects.filter(project=project).select_related("user").order_by("user__username")
    return [
        Member(
            row.user.pk,
            row.user.get_username(),
            row.user.get_full_name(),
            row.user.email,
            row.role,
            row.seen_at or row.user.last_login,
            row.user.is_active,
            counts.get(row.user.pk, 0),
            row.user.pk == reader.pk,
        )
        for row in rows.annotate(seen_at=Max("user__signins__seen_at"))[:SHOWN]
    ]


def member_of(project: Project, pk: int) -> User | None:
    """Return the user of a membership by the user's primary key."""
    found = Membership.objects.filter(project=project, user=pk).select_related("user").first()
    return found.user if found else None


def invited(project: Project) -> Sequence[Invited]:
    """Return the invites that were not used or withdrawn, the newest first. One query."""
    return [
        Invited(
            row.pk,
            row.email,
            row.role,
            row.made_by.get_username() if row.made_by else "",
            row.made_at,
            row.expires_at,
            not is_open,
        )
        for row, is_open in invites.of_project(project)
    ]
