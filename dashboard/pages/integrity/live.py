"""Live panels of the integrity page: the counts, and either all groups or the first page of one list."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING

from dashboard.live.panel import Panel
from dashboard.pages.integrity import queries
from dashboard.pages.integrity.groups import groups
from dashboard.pages.integrity.params import LISTS, Filters

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
    from django.http import QueryDict

    from dashboard.live.viewer import DirtyPanels, Page
    from recorder.models import Project
    from recorder.pubsub.invalidation import Invalidation

SOON_MS = 2_000

COUNTS = Panel("integrity/counts", queries.counts, min_interval_ms=SOON_MS)


@cache
def groups_panel(name: str) -> Panel:
    """Return the panel of the groups of one list."""
    return Panel(f"integrity/{name}", partial(groups, name), min_interval_ms=SOON_MS)


@lru_cache(maxsize=64)  # the same object for all viewers of one address, so that it is drawn once for them
def list_panel(name: str, reason: str) -> Panel:
    """Return the panel of the first page of one list."""
    return Panel(f"integrity/{name}-list", partial(_first_pages, name, reason), min_interval_ms=SOON_MS)


def _first_pages(name: str, reason: str, projects: Collection[int]) -> Mapping[int, queries.ListPage]:
    return {pk: queries.list_page(pk, slug, name, reason) for pk, slug in queries.slugs(projects).items()}


def panels(filters: Filters) -> list[Panel]:
    """Return the panels of an address below the counts, those that change."""
    if not filters.list:
        return [groups_panel(name) for name in LISTS]
    return [list_panel(filters.list, filters.reason)] if filters.before is None else []


@dataclass(frozen=True, slots=True)
class IntegrityPage:
    """An open integrity page."""

    project: int
    filters: Filters

    def dirty_panels(self, touched: Invalidation | None) -> DirtyPanels:
        return [(panel, [self.project]) for panel in (COUNTS, *panels(self.filters))]


def open_page(project: Project, _user: AbstractBaseUser | AnonymousUser, params: QueryDict) -> Page:
    """Return the page of a socket URL."""
    return IntegrityPage(project.pk, Filters.parse(params))
