"""A page without live panels except those of the shell: its content changes rarely."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
    from django.http import QueryDict

    from dashboard.live.viewer import DirtyPanels, LivePage
    from recorder.models import Project
    from recorder.pubsub.invalidation import Invalidation


@dataclass(frozen=True, slots=True)
class StaticPage:
    """An open page whose panels, if it has any, are never updated."""

    project: int
    panels: DirtyPanels = field(default_factory=list)

    def dirty_panels(self, touched: Invalidation | None) -> DirtyPanels:
        """Return the panels at first and after a reconnect."""
        return self.panels if touched is None else []


def open_page(project: Project, _user: AbstractBaseUser | AnonymousUser, _params: QueryDict) -> LivePage:
    """Return the open page of a socket."""
    return StaticPage(project.pk)
