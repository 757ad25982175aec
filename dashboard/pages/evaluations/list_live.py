"""Live panels of the list of evaluations: its rows, and the number of new ones."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from dashboard.live.paged_list import Kind, OpenList
from dashboard.pages.evaluations.list_params import COLUMNS, Filters
from dashboard.pages.evaluations.queries import list as queries_list

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
    from django.http import QueryDict

    from dashboard.live.viewer import LivePage
    from recorder.models import Project

EVALUATIONS = Kind(
    page="evaluations",
    what="evaluation",
    matching=queries_list.matching,
    rows=queries_list.rows,
    sessions=queries_list.sessions,
    comes_with=attrgetter("groups"),
    rows_ms=1_000,
    columns=COLUMNS,
)


def open_page(project: Project, user: AbstractBaseUser | AnonymousUser, params: QueryDict) -> LivePage:
    """Return the page of a socket URL."""
    return OpenList.reopened(EVALUATIONS, project.pk, Filters.parse(params, user.pk), params)


def open_shared(project: Project, _user: AbstractBaseUser | AnonymousUser, params: QueryDict) -> LivePage:
    """Return the page of a share link's socket: no row is shown that does not match the parameters."""
    return OpenList.reopened_strictly(EVALUATIONS, project.pk, Filters.parse(params), params)
