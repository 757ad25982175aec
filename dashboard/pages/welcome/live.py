"""Live panel of the welcome page: it links to the first session when that is recorded."""

from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import QueryDict

from dashboard.live.panel import Panel
from dashboard.live.viewer import DirtyPanels, Page
from dashboard.pages.welcome.queries import first_session
from recorder.models import Project
from recorder.pubsub.invalidation import Invalidation

FIRST = Panel("welcome/first", first_session)


@dataclass(frozen=True, slots=True)
class WelcomePage:
    """An open welcome page."""

    project: int

    def dirty_panels(self, touched: Invalidation | None) -> DirtyPanels:
        return [(FIRST, [self.project])] if touched is None or touched.new_sessions else []


def open_page(project: Project, _user: AbstractBaseUser | AnonymousUser, _params: QueryDict) -> Page:
    """Return the page of a socket URL."""
    return WelcomePage(project.pk)
