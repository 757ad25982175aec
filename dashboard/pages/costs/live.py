"""Live panels of the costs page: figures every 30 seconds at most, prices every second at most."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from dashboard.live.panel import Panel
from dashboard.pages.costs import queries
from dashboard.pages.costs.params import CostsParams

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
    from django.http import QueryDict

    from dashboard.live.viewer import DirtyPanels, LivePage
    from recorder.models import Project
    from recorder.pubsub.invalidation import Invalidation

FIGURES_MS = 30_000
PRICES_MS = 1_000


@lru_cache(maxsize=256)
def figures_panel(params: CostsParams) -> Panel:
    """Return the panel of all totals; pages with equal parameters share one rendering.

    The reader is one of them where the query's rows differ by who reads them.
    """
    return Panel("costs/figures", partial(queries.pages, params), min_interval_ms=FIGURES_MS)


PRICES = Panel("costs/prices/prices", queries.prices, min_interval_ms=PRICES_MS)


@dataclass(frozen=True, slots=True)
class CostsPage:
    """An open costs page."""

    project: int
    params: CostsParams

    def dirty_panels(self, touched: Invalidation | None) -> DirtyPanels:
        prices = (PRICES, [self.project])
        if touched is None or self._has_changed(touched):
            return [(figures_panel(self.params), [self.project]), prices]
        return [prices]

    def _has_changed(self, touched: Invalidation) -> bool:
        if touched.loops or touched.groups or touched.deleted:
            return True
        # A query may select sessions by their state, their notes or the words in them.
        return bool(self.params.q and (touched.sessions or touched.noted or touched.indexed))


def open_page(project: Project, user: AbstractBaseUser | AnonymousUser, params: QueryDict) -> LivePage:
    """Return the page of a socket URL."""
    return CostsPage(project.pk, CostsParams.parse(params, user.pk))


@dataclass(frozen=True, slots=True)
class PanelHtml:
    """The HTML of the page's panels."""

    figures: str
    prices: str


def draw(page: CostsPage) -> PanelHtml:
    """Render the page's panels with the functions that the socket uses."""
    (figures, _), (prices, _) = page.dirty_panels(None)
    return PanelHtml(figures.draw([page.project])[page.project], prices.draw([page.project])[page.project])
