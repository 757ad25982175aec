"""Database queries of the settings page."""

from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.db.models import Count, Q, Sum

from recorder.models import AccessToken, Membership, Project, Pruning, Session

TOKENS_SHOWN = 200
MEMBERS_SHOWN = 500


@dataclass(frozen=True, slots=True)
class Token:
    """One access token; `key` is its public part."""

    key: str
    name: str
    scopes: str
    made_by: str
    made_at: datetime
    used_at: datetime | None
    expires_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class Member:
    """One member of the project."""

    name: str
    username: str
    role: str
    seen_at: datetime | None


@dataclass(frozen=True, slots=True)
class Recorded:
    """Numbers of records of the project."""

    sessions: int
    loops: int
    turns: int
    events: int
    demo_sessions: int


def tokens(project: Project) -> list[Token]:
    """Return the project's tokens: valid ones first, then newest first."""
    rows = AccessToken.objects.filter(project=project).select_related("created_by").order_by("-pk")
    shown = [
        Token(
            row.key,
            row.name,
            row.scopes.replace(",", ", "),
            row.created_by.get_username() if row.created_by else "",
            row.created_at,
            row.last_used_at,
            row.expires_at,
            row.revoked_at,
        )
        for row in rows[:TOKENS_SHOWN]
    ]
    return sorted(shown, key=lambda token: token.revoked_at is not None)


def members(project: Project) -> list[Member]:
    """Return the members of the project."""
    rows = Membership.objects.filter(project=project).select_related("user").order_by("user__username")
    return [
        Member(row.user.get_full_name(), row.user.get_username(), row.get_role_display(), row.user.last_login)
        for row in rows[:MEMBERS_SHOWN]
    ]


def recorded(project: Project) -> Recorded:
    """Return the numbers of records. One query."""
    sums = Session.objects.filter(project=project).aggregate(
        sessions=Count("pk"),
        loops_=Sum("loops", default=0),
        turns_=Sum("turns", default=0),
        events_=Sum("events", default=0),
        demo=Count("pk", filter=Q(is_demo=True)),
    )
    return Recorded(sums["sessions"], sums["loops_"], sums["turns_"], sums["events_"], sums["demo"])


def pruned(project: Project) -> Pruning | None:
    """Return the last pruning, None if there was none."""
    return Pruning.objects.filter(project=project).order_by("-pk").first()


def database() -> str:
    """Return the database's name and version."""
    numbers = connection.get_database_version()
    return f"{connection.display_name} {'.'.join(str(number) for number in numbers)}"
