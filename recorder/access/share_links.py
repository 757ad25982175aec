"""Share links: one record for anyone who has the link. Only a hash of its 256-bit secret is stored.

A link ends when it expires, when it is revoked, and with the right of the person who made it: they are no
longer a member who may share, or no longer active.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from django.contrib.auth.hashers import check_password, make_password
from django.contrib.auth.models import User
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from recorder.models import Membership, Project, Session, ShareLink, ShareOpening

LEAST, USUAL, MOST = timedelta(hours=1), timedelta(days=7), timedelta(days=30)
PASSWORD_CHARS = 200
NOTED_FOR, NOTED_MOST = timedelta(hours=1), 100  # openings of a link in the audit log
SECRET = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
NO_SECRET = "0" * 43  # looked up for text that is no secret; its hash is that of no link

_MAKERS = Membership.objects.filter(
    project=OuterRef("project"), user=OuterRef("created_by"), role__in=("member", "admin")
)
_OF_MAKERS = Q(created_by__is_active=True) & (Q(created_by__is_superuser=True) | Exists(_MAKERS))


Kind = Literal["session", "evaluation", "view", "comparison"]


@dataclass(frozen=True, slots=True)
class Target:
    """The content that a link shows: see `ShareLink`."""

    kind: Kind
    pk: int = 0
    query: str = ""


@dataclass(frozen=True, slots=True)
class Terms:
    """For how long and how a link shows its record; `event` freezes a session as of this event."""

    lifetime: timedelta = USUAL
    password: str = ""
    is_masked: bool = True
    has_notes: bool = False
    event: int | None = None


@dataclass(frozen=True, slots=True)
class Issued:
    """A new link and its secret, which cannot be shown again."""

    link: ShareLink
    secret: str


def issue(project: Project, user: User, target: Target, terms: Terms) -> Issued:
    """Create a link that `user` made. Raises ValueError if it would live shorter or longer than allowed."""
    if not LEAST <= terms.lifetime <= MOST:
        raise ValueError("a link lives for 1 hour to 30 days")
    now, secret = timezone.now(), secrets.token_urlsafe(32)
    link = ShareLink.objects.create(
        project=project,
        kind=target.kind,
        target=target.pk,
        query=target.query,
        secret_hash=_hash(secret),
        password=make_password(terms.password[:PASSWORD_CHARS]) if terms.password else "",
        event=terms.event,
        is_masked=terms.is_masked,
        has_notes=terms.has_notes,
        created_by=user,
        created_at=now,
        expires_at=now + terms.lifetime,
    )
    return Issued(link, secret)


def find(secret: str) -> ShareLink | None:
    """Return the link and its project; None if it is unknown, expired, revoked or ended with its maker."""
    candidate = secret if SECRET.fullmatch(secret) else NO_SECRET
    found = valid().select_related("project").filter(secret_hash=_hash(candidate)).first()
    return found if found is not None and found.project.slug != Project.DELETING else None


def valid() -> QuerySet[ShareLink]:
    """Return the links that work now."""
    return ShareLink.objects.filter(_OF_MAKERS, revoked_at=None, expires_at__gt=timezone.now())


def is_password(link: ShareLink, password: str) -> bool:
    """Return whether the password opens the link."""
    return check_password(password[:PASSWORD_CHARS], link.password)


def count_opening(link: ShareLink) -> bool:
    """Count an opening; return whether the link still works. One UPDATE, so that no opening is lost."""
    now = timezone.now()
    live = ShareLink.objects.filter(pk=link.pk, revoked_at=None, expires_at__gt=now)
    return bool(live.update(openings=F("openings") + 1, opened_at=now))


def note_opening(link: ShareLink, who: str) -> bool:
    """Return whether an opening by a user or an address gets an entry in the audit log; if so, store that.

    One an hour for each `who`, and `NOTED_MOST` an hour for a link: the holder of a link cannot fill the log.
    Call it in the transaction of `count_opening`, whose UPDATE makes the openings of a link wait for each
    other.
    """
    now, of_link = timezone.now(), ShareOpening.objects.filter(link=link)
    of_link.filter(at__lte=now - NOTED_FOR).delete()
    noted = set(of_link.values_list("who", flat=True))
    if who in noted or len(noted) >= NOTED_MOST:
        return False
    ShareOpening.objects.create(link=link, who=who, at=now)
    return True


def openings_of(link: ShareLink) -> int:
    """Return how often a link was opened so far. One query."""
    return ShareLink.objects.values_list("openings", flat=True).get(pk=link.pk)


def label(link: ShareLink) -> str:
    """Return what a link shows, for the audit log: its kind, and session id or number."""
    found = None
    if link.kind == ShareLink.Kind.SESSION:
        found = Session.objects.filter(pk=link.target).values_list("session_id", flat=True).first()
    return f"{link.kind} {found or link.target or link.query}"


def revoke(link: ShareLink) -> bool:
    """End a link; return whether it was not revoked before."""
    live = ShareLink.objects.filter(pk=link.pk, revoked_at=None)
    return bool(live.update(revoked_at=timezone.now()))


def forget_session(project: int, session: int, groups: Collection[int]) -> None:
    """Delete the links to a session that is deleted for good, its evaluations and its compared loops."""
    of_session = Q(kind__in=("session", "comparison"), target=session)
    of_groups = Q(kind="evaluation", target__in=list(groups))
    ShareLink.objects.filter(of_session | of_groups, project=project).delete()


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
