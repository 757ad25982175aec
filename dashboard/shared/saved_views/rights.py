"""Rights to save and change views: members their own; those of the project their owner and admins.

In an archived project no user may.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.core.exceptions import PermissionDenied

from dashboard.security.access import has, role
from dashboard.web.errors import ProjectArchived
from recorder.access.rights import Right
from recorder.models import Project


@dataclass(frozen=True, slots=True)
class Rights:
    """The rights of one person to the views of a project."""

    user: int  # 0 for a token
    may_save: bool = False  # views of their own
    may_share: bool = False  # views of the project

    def may_edit(self, visibility: str, owner: int) -> bool:
        """Return whether the person may change a view that they see."""
        if owner == self.user:
            return self.may_save
        return visibility == "project" and self.may_share


def rights(user: AbstractBaseUser | AnonymousUser | None, project: Project) -> Rights:
    """Return the rights of a person; None is a token, which only reads. One query."""
    if user is None:
        return Rights(0)
    held = role(user, project)
    return Rights(
        user.pk or 0,
        may_save=has(held, project, Right.WRITE_OWN_VIEWS),
        may_share=has(held, project, Right.WRITE_SHARED_VIEWS),
    )


def refusal(project: Project) -> PermissionDenied:
    """Return why a change is refused: the project is archived, or the person may not."""
    return PermissionDenied() if project.archived_at is None else ProjectArchived()
