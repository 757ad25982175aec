"""Live panels of the integrity page: the counts, and the first page of each list."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from dashboard.live.panel import Panel
from dashboard.pages.integrity import queries

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
    from django.http import QueryDict

    from dashboard.live.viewer import DirtyPanels, Page
    from recorder.models import Project
    from recorder.pubsub.invalidation import Invalidation

SOON_MS = 2_000

COUNTS = Panel("integrity/counts", queries.counts, min_interval_ms=SOON_MS)
LISTS = {
    "refused": Panel(
        "integrity/refused", partial(queries.first_pages, queries.refused), min_interval_ms=SOON_MS
    ),
    "orphans": Panel(
        "integrity/orphans", partial(queries.first_pages, queries.orphans), min_interval_ms=SOON_MS
    ),
    "misfits": Panel(
        "integrity/misfits", partial(queries.first_pages, queries.misfits), min_interval_ms=SOON_MS
    ),
}


@dataclass(frozen=True, slots=True)
class IntegrityPage:
    """An open integrity page: its counts, and the lists of which it shows the first page."""

    project: int
    lists: tuple[str, ...] = tuple(LISTS)

    def dirty_panels(self, touched: Invalidation | None) -> DirtyPanels:
        return [(panel, [self.project]) for panel in (COUNTS, *(LISTS[name] for name in self.lists))]


def open_page(project: Project, _user: AbstractBaseUser | AnonymousUser, params: QueryDict) -> Page:
    """Return the page of a socket URL."""
    return IntegrityPage(project.pk, tuple(name for name in LISTS if name not in params))
