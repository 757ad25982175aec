"""A page without live panels except those of the shell: its content changes rarely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
    from django.http import QueryDict

    from dashboard.live.viewer import DirtyPanels, LivePage
    from recorder.models import Project
    from recorder.pubsub.invalidation import Invalidation


@dataclass(frozen=True, slots=True)
class StaticPage:
    """An open page without panels of its own."""

    project: int

    def dirty_panels(self, _: Invalidation | None) -> DirtyPanels:
        return []


def open_page(project: Project, _user: AbstractBaseUser | AnonymousUser, _params: QueryDict) -> LivePage:
    """Return the open page of a socket."""
    return StaticPage(project.pk)
