"""What an open list of sessions is sent: its rows, its figures, and how many new sessions wait."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.utils import timezone

from dashboard.panels import Panel
from dashboard.sessions import queries
from dashboard.sessions.filters import Filters

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
    from django.http import QueryDict

    from dashboard.viewer import Page, Wants
    from recorder.models import Project
    from recorder.notify import Bell

FIGURES_MS = 5_000
ROWS_MAX = 100  # that a socket may ask for; a page shows fewer


@lru_cache(maxsize=256)
def row_panel(project: int) -> Panel:
    """Return the rows of one project: a session of another is to its pages as one that is gone."""
    return Panel("sessions/row", partial(queries.rows, project))


@lru_cache
def summary_panel(since: str) -> Panel:
    """Return the tiles of a time window; pages that show the same share one drawing."""
    return Panel("sessions/summary", partial(_summaries, since), every_ms=FIGURES_MS)


@lru_cache(maxsize=256)
def views_panel(filters: Filters) -> Panel:
    return Panel("sessions/views", partial(_views, filters), every_ms=FIGURES_MS)


@lru_cache(maxsize=256)
def strip_panel(project: int, filters: Filters) -> Panel:
    """Return the strip of new sessions; its key is the last session that the page knows."""
    return Panel("sessions/strip", partial(_strips, project, filters))


def _summaries(since: str, projects: Collection[int]) -> Mapping[int, object]:
    now = timezone.now()
    return {project: queries.figures(project, since, now) for project in projects}


def _views(filters: Filters, projects: Collection[int]) -> Mapping[int, object]:
    now = timezone.now()
    return {project: queries.views(project, filters, now) for project in projects}


def _strips(project: int, filters: Filters, newest: Collection[int]) -> Mapping[int, object]:
    now = timezone.now()
    return {pk: queries.fresh(project, filters, pk, now) for pk in newest}


@dataclass(frozen=True, slots=True)
class SessionsPage:
    """An open list: the rows it shows and the last session it knows of."""

    project: int
    filters: Filters
    rows: tuple[int, ...]
    newest: int

    def wants(self, bell: Bell | None) -> Wants:
        if bell is None:
            return [(self._row, list(self.rows)), *self._figures, self._strip]
        wanted: Wants = [(self._row, [pk for pk in self.rows if pk in bell.sessions])]
        if bell.sessions or bell.new_sessions:
            wanted += self._figures
        if bell.new_sessions:
            wanted.append(self._strip)
        return wanted

    @property
    def _row(self) -> Panel:
        return row_panel(self.project)

    @property
    def _figures(self) -> Wants:
        return [
            (summary_panel(self.filters.since), [self.project]),
            (views_panel(self.filters), [self.project]),
        ]

    @property
    def _strip(self) -> tuple[Panel, list[int]]:
        return strip_panel(self.project, self.filters), [self.newest]


@dataclass(frozen=True, slots=True)
class Drawn:
    """The HTML of the page's panels."""

    summary: str
    views: str
    strip: str
    rows: list[str]


def draw(page: SessionsPage) -> Drawn:
    """Draw the page's panels, each as the socket would."""
    (row, pks), (summary, _), (views, _), (strip, _) = page.wants(None)
    drawn = row.draw(pks)
    return Drawn(
        summary=summary.draw([page.project])[page.project],
        views=views.draw([page.project])[page.project],
        strip=strip.draw([page.newest])[page.newest],
        rows=[drawn[pk] for pk in pks if pk in drawn],
    )


def socket_query(page: SessionsPage) -> str:
    """Return what the page's socket URL carries, so that a reconnect redraws exactly what the page shows."""
    shown = ("rows", ".".join(map(str, page.rows))), ("newest", str(page.newest))
    return urlencode([*page.filters.pairs(), *shown])


def open_page(project: Project, _user: AbstractBaseUser | AnonymousUser, params: QueryDict) -> Page:
    """Return the page that a socket URL stands for; numbers that are none are left out."""
    newest = params.get("newest", "")
    return SessionsPage(
        project.pk,
        Filters.parse(params).on_first_page(),
        rows=tuple(int(word) for word in params.get("rows", "").split(".")[:ROWS_MAX] if _is_pk(word)),
        newest=int(newest) if _is_pk(newest) else 0,
    )


def _is_pk(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) < 19
