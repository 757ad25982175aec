"""Live panels of the list of compactions: its rows, and the number of new ones."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from dashboard.live.paged_list import Kind, OpenList
from dashboard.pages.compactions.params import COLUMNS, Filters
from dashboard.pages.compactions.queries import list as queries_list

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
    from django.http import QueryDict

    from dashboard.live.viewer import LivePage
    from recorder.models import Project

COMPACTIONS = Kind(
    page="compactions",
    what="compaction",
    matching=queries_list.matching,
    rows=queries_list.rows,
    sessions=queries_list.sessions,
    comes_with=attrgetter("sessions"),
    rows_ms=3_000,
    columns=COLUMNS,
    strip_ms=3_000,
)


def open_page(project: Project, user: AbstractBaseUser | AnonymousUser, params: QueryDict) -> LivePage:
    """Return the page of a socket URL."""
    return OpenList.reopened(COMPACTIONS, project.pk, Filters.parse(params, user.pk), params)
