"""What an open costs page is sent: its figures every half minute, prices and repricing as they change."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from dashboard.live.panel import Panel
from dashboard.pages.costs import queries
from dashboard.pages.costs.params import Params

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
    from django.http import QueryDict

    from dashboard.live.viewer import Page, Wants
    from recorder.models import Project
    from recorder.pubsub.invalidation import Invalidation

FIGURES_MS = 30_000
PRICES_MS = 1_000


@lru_cache(maxsize=256)
def figures_panel(asked: Params) -> Panel:
    """Return everything that is summed; pages that show the same share one drawing."""
    return Panel("costs/figures", partial(queries.pages, asked), min_interval_ms=FIGURES_MS)


PRICES = Panel("costs/prices", queries.prices, min_interval_ms=PRICES_MS)


@dataclass(frozen=True, slots=True)
class CostsPage:
    """An open costs page."""

    project: int
    asked: Params

    def dirty_panels(self, touched: Invalidation | None) -> Wants:
        prices = (PRICES, [self.project])
        if touched is None or touched.loops or touched.groups:
            return [(figures_panel(self.asked), [self.project]), prices]
        return [prices]


def open_page(project: Project, _user: AbstractBaseUser | AnonymousUser, params: QueryDict) -> Page:
    """Return the page that a socket URL stands for."""
    return CostsPage(project.pk, Params.parse(params))


@dataclass(frozen=True, slots=True)
class Drawn:
    """The HTML of the page's panels."""

    figures: str
    prices: str


def draw(page: CostsPage) -> Drawn:
    """Draw the page's panels, each as the socket would."""
    (figures, _), (prices, _) = page.dirty_panels(None)
    return Drawn(figures.draw([page.project])[page.project], prices.draw([page.project])[page.project])
