"""What an open costs page is sent: its figures every half minute, prices and repricing as they change."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from dashboard.live.panel import Panel
from dashboard.pages.costs import queries
from dashboard.pages.costs.params import Asked

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
    from django.http import QueryDict

    from dashboard.live.viewer import Page, Wants
    from recorder.models import Project
    from recorder.pubsub.invalidation import Bell

FIGURES_MS = 30_000
PRICES_MS = 1_000


@lru_cache(maxsize=256)
def figures_panel(asked: Asked) -> Panel:
    """Return everything that is summed; pages that show the same share one drawing."""
    return Panel("costs/figures", partial(queries.pages, asked), every_ms=FIGURES_MS)


PRICES = Panel("costs/prices", queries.prices, every_ms=PRICES_MS)


@dataclass(frozen=True, slots=True)
class CostsPage:
    """An open costs page."""

    project: int
    asked: Asked

    def wants(self, bell: Bell | None) -> Wants:
        prices = (PRICES, [self.project])
        if bell is None or bell.loops or bell.groups:
            return [(figures_panel(self.asked), [self.project]), prices]
        return [prices]


def open_page(project: Project, _user: AbstractBaseUser | AnonymousUser, params: QueryDict) -> Page:
    """Return the page that a socket URL stands for."""
    return CostsPage(project.pk, Asked.parse(params))


@dataclass(frozen=True, slots=True)
class Drawn:
    """The HTML of the page's panels."""

    figures: str
    prices: str


def draw(page: CostsPage) -> Drawn:
    """Draw the page's panels, each as the socket would."""
    (figures, _), (prices, _) = page.wants(None)
    return Drawn(figures.draw([page.project])[page.project], prices.draw([page.project])[page.project])
