"""Live panels of the integrity page: the tiles, and either all groups or the first page of one list."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from dashboard.live.panel import Panel
from dashboard.pages.integrity.params import LISTS, Filters
from dashboard.pages.integrity.queries import lists
from dashboard.pages.integrity.queries.groups import groups

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
    from django.http import QueryDict

    from dashboard.live.viewer import DirtyPanels, LivePage
    from recorder.models import Project
    from recorder.pubsub.invalidation import Invalidation

SOON_MS = 2_000


@lru_cache(maxsize=64)  # the same object for all viewers of one address: it is drawn once for them
def counts_panel(filters: Filters) -> Panel:
    """Return the panel of the tiles."""
    return Panel("integrity/counts", partial(lists.counts, filters), min_interval_ms=SOON_MS)


@lru_cache(maxsize=64)
def panels(filters: Filters) -> Sequence[Panel]:
    """Return the panels of an address below the tiles, those that change."""
    if not filters.list:
        return [
            Panel(f"integrity/{name}", partial(groups, name, filters), min_interval_ms=SOON_MS)
            for name in LISTS
        ]
    return [list_panel(filters)] if filters.before is None else []


def list_panel(filters: Filters) -> Panel:
    """Return the panel of the first page of one list."""
    return Panel(f"integrity/{filters.list}-list", partial(_first_pages, filters), min_interval_ms=SOON_MS)


def _first_pages(filters: Filters, projects: Collection[int]) -> Mapping[int, lists.ListPage]:
    return {pk: lists.list_page(pk, slug, filters) for pk, slug in lists.slugs(projects).items()}


@dataclass(frozen=True, slots=True)
class IntegrityPage:
    """An open integrity page."""

    project: int
    filters: Filters

    def dirty_panels(self, touched: Invalidation | None) -> DirtyPanels:
        return [(panel, [self.project]) for panel in (counts_panel(self.filters), *panels(self.filters))]


def open_page(project: Project, _user: AbstractBaseUser | AnonymousUser, params: QueryDict) -> LivePage:
    """Return the page of a socket URL."""
    return IntegrityPage(project.pk, Filters.parse(params))
