"""Live panels of the list of sessions: rows, totals, and the number of new sessions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING

from django.utils import timezone

from dashboard.live.paged_list import Kind, OpenList, matching_rows
from dashboard.live.panel import Panel
from dashboard.pages.sessions import queries
from dashboard.pages.sessions.params import COLUMNS, Filters

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
    from django.http import QueryDict

    from dashboard.live.viewer import DirtyPanels, LivePage
    from dashboard.web.query_params import Address
    from recorder.models import Project
    from recorder.pubsub.invalidation import Invalidation

FIGURES_MS, SCALE_MS = 5_000, 1_000

SESSIONS = Kind(
    page="sessions",
    what="session",
    matching=queries.matching,
    rows=queries.rows,
    sessions=lambda pks: {pk: pk for pk in pks},
    comes_with=attrgetter("new_sessions"),
    is_cached=True,
    columns=COLUMNS,
)


@lru_cache(maxsize=256)
def summary_panel(filters: Filters) -> Panel:
    """Return the panel of totals; pages with the same filters share one rendering."""
    return Panel("sessions/summary", partial(_summaries, filters), min_interval_ms=FIGURES_MS)


@lru_cache(maxsize=256)
def views_panel(filters: Filters) -> Panel:
    return Panel("sessions/views", partial(_views, filters), min_interval_ms=FIGURES_MS)


@lru_cache(maxsize=256)
def scale_panel(rows: tuple[int, ...], within: Address | None = None) -> Panel:
    """Return the panel with the scale of the cost bars of these rows; if given, of those `within`."""
    return Panel("sessions/cost-scale", partial(_scales, rows, within), min_interval_ms=SCALE_MS)


def _scales(
    rows: tuple[int, ...], within: Address | None, projects: Collection[int]
) -> Mapping[int, queries.Scale]:
    if within is None:
        return queries.scales(rows, projects)
    scales: dict[int, queries.Scale] = {}
    for project in projects:
        scales |= queries.scales(matching_rows(SESSIONS, project, within, rows), [project])
    return scales


def _summaries(filters: Filters, projects: Collection[int]) -> Mapping[int, object]:
    now = timezone.now()
    return {project: queries.figures(project, filters, now) for project in projects}


def _views(filters: Filters, projects: Collection[int]) -> Mapping[int, object]:
    now = timezone.now()
    return {project: queries.views(project, filters, now) for project in projects}


@dataclass(frozen=True, slots=True)
class SessionsPage:
    """An open list of sessions, with its totals."""

    project: int
    filters: Filters
    list: OpenList

    def dirty_panels(self, touched: Invalidation | None) -> DirtyPanels:
        wanted = self.list.dirty_panels(touched)
        if touched is None or touched.sessions or touched.new_sessions:
            wanted += [(panel, [self.project]) for panel in (self.summary, self.views)]
        if touched is None or not touched.sessions.isdisjoint(self.list.rows):
            wanted.append((self.scale, [self.project]))
        return wanted

    @property
    def scale(self) -> Panel:
        return scale_panel(self.list.rows, self.list.within)

    @property
    def summary(self) -> Panel:
        return summary_panel(self.filters.plain.but(sort="-activity"))

    @property
    def views(self) -> Panel:
        return views_panel(self.filters)


def open_page(project: Project, user: AbstractBaseUser | AnonymousUser, params: QueryDict) -> LivePage:
    """Return the page of a socket URL."""
    filters = Filters.parse(params, getattr(user, "pk", None)).but()
    return SessionsPage(project.pk, filters, OpenList.reopened(SESSIONS, project.pk, filters, params))


def open_shared(project: Project, _user: AbstractBaseUser | AnonymousUser, params: QueryDict) -> LivePage:
    """Return the page of a share link's socket: no row is shown that does not match the parameters."""
    filters = Filters.parse(params).but()
    return SessionsPage(
        project.pk, filters, OpenList.reopened_strictly(SESSIONS, project.pk, filters, params)
    )
