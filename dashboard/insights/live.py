"""The insights page shows nothing live but its shell: what it shows changes once a day."""

from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import QueryDict

from dashboard.viewer import Page, Wants
from recorder.models import Project
from recorder.notify import Bell


@dataclass(frozen=True, slots=True)
class InsightsPage:
    """An open insights page."""

    project: int

    def wants(self, _: Bell | None) -> Wants:
        return []


def open_page(project: Project, _user: AbstractBaseUser | AnonymousUser, _params: QueryDict) -> Page:
    """Return what the page shows live."""
    return InsightsPage(project.pk)
