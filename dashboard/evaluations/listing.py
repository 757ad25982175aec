"""What an open list of evaluations is sent: its rows, and how many new ones wait."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.utils import timezone

from dashboard import links
from dashboard.evaluations.filters import Filters
from dashboard.evaluations.queries import lists
from dashboard.numbers import whole_number
from dashboard.panels import Panel

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
    from django.http import QueryDict

    from dashboard.viewer import Page, Wants
    from recorder.models import Project
    from recorder.notify import Bell

ROWS_MS = 1_000
ROWS_MAX = 100  # that a socket may ask for; a page shows fewer


@dataclass(frozen=True, slots=True)
class Rows:
    """The query of the panel of rows: an evaluation of another project is as one that is gone."""

    project: int

    def __call__(self, pks: Collection[int]) -> Mapping[int, lists.Row]:
        return lists.rows(self.project, pks)


@dataclass(frozen=True, slots=True)
class Fresh:
    """How many new evaluations wait; root of the panel evaluations/strip."""

    count: int
    url: str


@dataclass(frozen=True, slots=True)
class Strip:
    """The query of the panel of new ones; its key is the last evaluation that the page knows."""

    project: int
    filters: Filters

    def __call__(self, newest: Collection[int]) -> Mapping[int, Fresh]:
        now = timezone.now()
        url = self.filters.but()
        return {pk: Fresh(lists.fresh(self.project, self.filters, pk, now), url) for pk in newest}


@dataclass(slots=True)
class EvaluationsPage:
    """An open list: the rows it shows and the last evaluation it knows of."""

    project: int
    filters: Filters
    rows: tuple[int, ...]
    newest: int
    _sessions: frozenset[int] = field(default_factory=frozenset)

    def wants(self, bell: Bell | None) -> Wants:
        if bell is None:
            self._sessions = lists.sessions(self.rows)
            return [self._row(self.rows), self._strip]
        # A bell does not say whose branches moved: rows are few, and drawn once a second.
        moved = self.rows if self._sessions & bell.sessions else ()
        return [self._row(moved), *([self._strip] if bell.groups else ())]

    def _row(self, pks: Collection[int]) -> tuple[Panel, list[int]]:
        return Panel("evaluations/row", Rows(self.project), every_ms=ROWS_MS), list(pks)

    @property
    def _strip(self) -> tuple[Panel, list[int]]:
        return Panel("evaluations/strip", Strip(self.project, self.filters)), [self.newest]


def socket(slug: str, page: EvaluationsPage) -> str:
    """Return the socket's URL, so that a reconnect redraws exactly what the page shows."""
    rows = ".".join(map(str, page.rows))
    return links.live(slug, "evaluations", **page.filters.pairs(), rows=rows, newest=page.newest)


def open_page(project: Project, _user: AbstractBaseUser | AnonymousUser, params: QueryDict) -> Page:
    """Return the page that a socket URL stands for; numbers that are none are left out."""
    pks = [whole_number(word) for word in params.get("rows", "").split(".")[:ROWS_MAX]]
    return EvaluationsPage(
        project.pk,
        Filters.parse(params).on_first_page(),
        rows=tuple(pk for pk in pks if pk),
        newest=whole_number(params.get("newest", "")) or 0,
    )
