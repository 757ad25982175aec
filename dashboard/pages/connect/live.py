"""Live panel of the page: what was recorded since its token was made."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import QueryDict

from dashboard.live.panel import Panel
from dashboard.live.viewer import DirtyPanels, LivePage
from dashboard.pages.connect.queries import arrivals, token_of
from recorder.models import Project
from recorder.pubsub.invalidation import Invalidation

ARRIVAL = Panel("connect/arrival", arrivals)


@dataclass(frozen=True, slots=True)
class ConnectPage:
    """An open page, with the token that it made, if any."""

    project: int
    tokens: Sequence[int]

    def dirty_panels(self, touched: Invalidation | None) -> DirtyPanels:
        is_due = touched is None or touched.sessions or touched.events or touched.refused
        return [(ARRIVAL, list(self.tokens))] if self.tokens and is_due else []


def open_page(project: Project, _user: AbstractBaseUser | AnonymousUser, params: QueryDict) -> LivePage:
    """Return the page of a socket URL; a token of another project is none."""
    token = token_of(project.pk, params.get("token", ""))
    return ConnectPage(project.pk, [token] if token else [])
