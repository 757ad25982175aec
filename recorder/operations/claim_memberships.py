"""Writes the memberships that a claim of an OpenID Connect provider gives a user, and their audit entries."""

from __future__ import annotations

from collections.abc import Mapping

from django.contrib.auth.models import User
from django.db import transaction

from recorder.models import Membership, Project
from recorder.operations.audit import Actor, record


def slugs() -> list[str]:
    """Return the slugs of all projects."""
    return list(Project.objects.values_list("slug", flat=True))


@transaction.atomic
def replace(user: User, roles: Mapping[str, str], actor: Actor) -> None:
    """Let the user's memberships from a claim be these: role by slug of the project.

    A membership that a person gave stays as it is, and so does what a superuser may do.
    """
    held = {each.project.slug: each for each in _memberships(user)}
    for slug, membership in held.items():
        if membership.from_claim and slug not in roles:
            membership.delete()
            _record(membership, actor, before=membership.role, after=None)
    for project in Project.objects.filter(slug__in=roles):
        _give(held.get(project.slug), user, project, roles[project.slug], actor)


def _give(held: Membership | None, user: User, project: Project, role: str, actor: Actor) -> None:
    if held is None:
        membership = Membership.objects.create(user=user, project=project, role=role, from_claim=True)
        _record(membership, actor, before=None, after=role)
    elif held.from_claim and held.role != role:
        before, held.role = held.role, role
        held.save(update_fields=["role"])
        _record(held, actor, before=before, after=role)


def _memberships(user: User) -> list[Membership]:
    rows = Membership.objects.select_related("project").filter(user=user)
    return list(rows.select_for_update(of=("self",)))


def _record(membership: Membership, actor: Actor, *, before: str | None, after: str | None) -> None:
    name = membership.user.get_username()
    record(membership.project, actor, "membership.claim", name, before=before, after=after)
