"""Members of a project: their roles, changed and taken away. Each change is in the audit log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from recorder.models import Membership, Project
from recorder.operations import audit
from recorder.operations.people.errors import Refused
from recorder.operations.people.users import publish

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from recorder.operations.audit import Actor

ROLES = Membership.Role.values


def set_role(project: Project, user: User, role: str, actor: Actor) -> None:
    """Add a member, or change the role of one. Raises Refused: an unknown role, or the last admin's."""
    if role not in ROLES:
        raise Refused(f"Roles are {', '.join(ROLES)}.")
    with transaction.atomic():
        found = _locked(project, user)
        if found is not None and found.role == role:
            return
        if found is not None and role != Membership.Role.ADMIN:
            _require_another_admin(found, actor)
        Membership.objects.update_or_create(
            project=project, user=user, defaults={"role": role, "from_claim": False}
        )
        action: audit.Action = "member.role" if found else "member.add"
        before = found.role if found else None
        audit.record(project, actor, action, user.get_username(), before=before, after=role)
        publish(project.pk, user)


def remove(project: Project, user: User, actor: Actor) -> bool:
    """Remove a member, whose tokens and connections end with it; False if the user is none.

    Raises Refused for the last admin, unless a superuser or a command asks.
    """
    with transaction.atomic():
        found = _locked(project, user)
        if found is None:
            return False
        _require_another_admin(found, actor)
        found.delete()
        audit.record(project, actor, "member.remove", user.get_username(), before=found.role)
        publish(project.pk, user)
    return True


def _locked(project: Project, user: User) -> Membership | None:
    return Membership.objects.select_for_update().filter(project=project, user=user).first()


def _require_another_admin(found: Membership, actor: Actor) -> None:
    """Raise Refused if the project would be without an admin; superusers and commands may leave it so."""
    if found.role != Membership.Role.ADMIN or actor.kind == "command" or actor.is_superuser:
        return
    others = Membership.objects.select_for_update().filter(
        project=found.project_id, role=Membership.Role.ADMIN, user__is_active=True
    )
    if not others.exclude(pk=found.pk).exists():
        raise Refused("The project would be left without an admin. Make someone else one first.")
