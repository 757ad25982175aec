"""The live panel of a flame graph, redrawn at most every five seconds while one of its sessions changes.

A page as of an event is never updated. An invalidation does not say which sessions are related, so one that
changes the tree of a drawn session makes all sessions that it touches related, as on the session page.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from django.http import Http404

from dashboard.live.panel import Panel
from dashboard.live.viewer import PageGone
from dashboard.pages.flame.panel_view import Flames
from dashboard.pages.flame.params import FlameParams
from dashboard.pages.flame.queries.sessions import family, sessions
from dashboard.web.query_params import whole_number

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
    from django.http import QueryDict

    from dashboard.live.viewer import DirtyPanels, LivePage
    from recorder.models import Project
    from recorder.pubsub.invalidation import Invalidation

GRAPH_MS = 5_000


@lru_cache(maxsize=256)
def graph_panel(project: int, params: FlameParams) -> Panel:
    """Return the panel of the graph; pages with equal parameters share one rendering."""
    return Panel("flame/graph", Flames(project, params), min_interval_ms=GRAPH_MS)


@dataclass(slots=True)
class FlamePage:
    """An open page."""

    project: int
    session: int
    params: FlameParams
    _related: set[int] = field(default_factory=set)  # the drawn sessions, those of sub-agents with them

    def dirty_panels(self, touched: Invalidation | None) -> DirtyPanels:
        """Return the panel if a drawn session changed. Raises PageGone."""
        graph: DirtyPanels = [(graph_panel(self.project, self.params), [self.session])]
        if touched is None:
            self._related = family(self.project, self.session_pks)
            return graph if self.params.at is None else []
        if self.session_pks & touched.deleted:
            raise PageGone
        if self._related & touched.reshaped:
            self._related |= touched.sessions | touched.reshaped
        changed = touched.sessions | touched.ledgers | touched.reshaped
        return graph if self.params.at is None and self._related & changed else []

    @property
    def session_pks(self) -> set[int]:
        """Return the sessions that the page shows."""
        return {self.session, *([self.params.other] if self.params.other is not None else [])}


def open_page(project: Project, _user: AbstractBaseUser | AnonymousUser, params: QueryDict) -> LivePage:
    """Return the page of a socket URL. Raises Http404."""
    page = FlamePage(project.pk, whole_number(params.get("session", "")) or 0, FlameParams.parse(params))
    if page.session_pks - sessions(project.pk, page.session_pks).keys():
        raise Http404
    return page


def draw(page: FlamePage) -> str:
    """Render the panel with the function that the socket uses."""
    return graph_panel(page.project, page.params).draw([page.session])[page.session]
