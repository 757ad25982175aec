"""The live panel of the page: all figures, at most every ten seconds, when the ledger or waste changed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from dashboard.live.panel import Panel
from dashboard.pages.context import queries
from dashboard.pages.context.params import ContextPageParams

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
    from django.http import QueryDict

    from dashboard.live.viewer import DirtyPanels, LivePage
    from recorder.models import Project
    from recorder.pubsub.invalidation import Invalidation

FIGURES_MS = 10_000


@lru_cache(maxsize=256)
def figures_panel(params: ContextPageParams) -> Panel:
    """Return the panel of all figures; pages with equal parameters share one rendering."""
    return Panel("context/figures", partial(queries.pages, params), min_interval_ms=FIGURES_MS)


@dataclass(frozen=True, slots=True)
class ContextLive:
    """An open page."""

    project: int
    params: ContextPageParams

    def dirty_panels(self, touched: Invalidation | None) -> DirtyPanels:
        if touched is None or touched.ledgers or touched.wastes or touched.deleted:
            return [(figures_panel(self.params), [self.project])]
        return []


def open_page(project: Project, _user: AbstractBaseUser | AnonymousUser, params: QueryDict) -> LivePage:
    """Return the page of a socket URL."""
    return ContextLive(project.pk, ContextPageParams.parse(params))


def draw(page: ContextLive) -> str:
    """Render the panel with the function that the socket uses."""
    return figures_panel(page.params).draw([page.project])[page.project]
