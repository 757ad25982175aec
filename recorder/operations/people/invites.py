"""Invites: links by which a person joins a project with a role. 7 days, one use; only a hash is stored.

An invite ends with the right of the person who made it, as a share link does: they are no longer active, or
no longer admin of the project.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from typing import TYPE_CHECKING

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, Q
from django.utils import timezone

from recorder.models import Invite, Membership, Project
from recorder.operations import audit
from recorder.operations.people import members
from recorder.operations.people.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from django.db.models import QuerySet

    from recorder.operations.audit import Actor

LIFETIME = timedelta(days=7)
OPEN_MAX = 200  # of one project

# Subqueries instead of joins: Django would write an UPDATE with a join as one with `id IN (SELECT …)`, which
# PostgreSQL does not check again after waiting for a concurrent UPDATE of the row.
_ADMINS = Membership.objects.filter(
    project=OuterRef(OuterRef("project")), user=OuterRef("pk"), role=Membership.Role.ADMIN
)
_MAKERS = User.objects.filter(Q(is_superuser=True) | Exists(_ADMINS), pk=OuterRef("made_by"), is_active=True)


def issue(project: Project, role: str, user: User, actor: Actor, email: str = "") -> tuple[Invite, str]:
    """Make an invite and return it with its secret, which cannot be shown again.

    Raises Refused: an unknown role, an invalid e-mail address, or too many open invites.
    """
    if role not in members.ROLES:
        raise Refused(f"Roles are {', '.join(members.ROLES)}.")
    if email:
        try:
            validate_email(email)
        except ValidationError as error:
            raise Refused(" ".join(error.messages)) from None
    if _unused(project).count() >= OPEN_MAX:
        raise Refused(f"At most {OPEN_MAX} invites can be open. Withdraw some first.")
    secret, now = secrets.token_urlsafe(32), timezone.now()
    with transaction.atomic():
        invite = Invite.objects.create(
            project=project,
            role=role,
            email=email,
            secret_hash=_hash(secret),
            made_by=user,
            made_at=now,
            expires_at=now + LIFETIME,
        )
        audit.record(project, actor, "invite.create", email or "anyone with the link", after=role)
    return invite, secret


def renew(project: Project, pk: int, user: User, actor: Actor) -> tuple[Invite, str] | None:
    """Give an unused invite a new link, made by `user`; the old one ends. None if there is no such invite."""
    secret, now = secrets.token_urlsafe(32), timezone.now()
    with transaction.atomic():
        found = _unused(project).filter(pk=pk).select_for_update().first()
        if found is None:
            return None
        found.secret_hash, found.made_by = _hash(secret), user
        found.made_at, found.expires_at = now, now + LIFETIME
        found.save(update_fields=["secret_hash", "made_by", "made_at", "expires_at"])
        audit.record(project, actor, "invite.renew", found.email or "anyone with the link", after=found.role)
    return found, secret


def withdraw(project: Project, pk: int, actor: Actor) -> bool:
    """Withdraw an open invite; False if there is none."""
    with transaction.atomic():
        found = _unused(project).filter(pk=pk).select_for_update().first()
        if found is None:
            return False
        found.withdrawn_at = timezone.now()
        found.save(update_fields=["withdrawn_at"])
        audit.record(project, actor, "invite.withdraw", found.email or "anyone with the link")
    return True


def of_project(project: Project) -> Sequence[tuple[Invite, bool]]:
    """Return the invites that were not used or withdrawn, the newest first, each with whether it is open."""
    is_open = ExpressionWrapper(_open(timezone.now()), BooleanField())
    rows = _unused(project).select_related("made_by").annotate(is_open=is_open)
    return [(row, row.is_open) for row in rows.order_by("-made_at", "-pk")]


def find(secret: str) -> Invite | None:
    """Return the open invite of a link."""
    found = Invite.objects.filter(_open(timezone.now()), secret_hash=_hash(secret))
    return found.select_related("project", "made_by").first()


def accept(secret: str, user: User, actor: Actor) -> Project:
    """Let a user join by a link. Raises Refused: the link is no longer valid.

    A member keeps the higher role. One UPDATE decides who uses the link.
    """
    now = timezone.now()
    with transaction.atomic():
        rows = Invite.objects.filter(_open(now), secret_hash=_hash(secret))
        if not rows.update(used_at=now, used_by=user):
            raise Refused("This invite was used, withdrawn or has ended.")
        invite = Invite.objects.select_related("project").get(secret_hash=_hash(secret))
        project = invite.project
        held = Membership.objects.filter(project=project, user=user).first()
        audit.record(project, actor, "invite.accept", user.get_username(), after=invite.role)
        if held is None or members.ROLES.index(held.role) < members.ROLES.index(invite.role):
            members.set_role(project, user, invite.role, actor)
    return project


def _unused(project: Project) -> QuerySet[Invite]:
    return Invite.objects.filter(project=project, used_at=None, withdrawn_at=None)


def _open(now: datetime) -> Q:
    return Q(Exists(_MAKERS), used_at=None, withdrawn_at=None, expires_at__gt=now)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
