"""Database queries of the account pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth.models import User
from django.db.models import Count, Max

from dashboard.security.access import projects_of
from recorder.models import Membership, Project, ProjectDeletion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.db.models import QuerySet

SHOWN = 1_000


def user_of(pk: int) -> User | None:
    """Return a user by primary key."""
    return User.objects.filter(pk=pk).first()


def users() -> QuerySet[User]:
    """Return all users by name, `SHOWN` at most, with `seen_at` and the number of their `projects`."""
    rows = User.objects.annotate(
        seen_at=Max("signins__seen_at"), projects=Count("memberships", distinct=True)
    )
    return rows.order_by("username")[:SHOWN]


def projects() -> QuerySet[Project]:
    """Return all projects by slug, with the number of their `members`."""
    return Project.objects.annotate(members=Count("memberships")).order_by("slug")


def project_deletion(pk: int) -> ProjectDeletion | None:
    """Return the deletion of a project by the project's number."""
    return ProjectDeletion.objects.filter(pk=pk).first()


def projects_and_roles(user: User) -> Sequence[tuple[Project, str]]:
    """Return the projects that a user sees, each with the user's role. Two queries."""
    roles = dict(Membership.objects.filter(user=user).values_list("project", "role"))
    return [(each, roles.get(each.pk, "superuser")) for each in projects_of(user)]
