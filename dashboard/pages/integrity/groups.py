"""Problems grouped by reason: how many, when, from whom, and one example of each.

A flood of bad lines has few reasons, so the page stays short. Cost: two queries a list; rejected lines are
counted from an index that covers them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, F, Max, Min

from dashboard.pages.integrity.params import Filters
from dashboard.pages.integrity.queries import SOURCES, Row, reason_label, slugs

GROUPS = 50  # shown of one list: types of events are free text


@dataclass(frozen=True, slots=True)
class Group:
    """All rows of one list with the same reason."""

    oldest: int  # primary key of the oldest row: the group's name in the DOM
    reason: str
    count: int
    first: datetime
    last: datetime
    producers: int
    example: Row  # the newest
    url: str  # the list of all

    @property
    def other_producers(self) -> int:
        """Producers beside the one of the example."""
        return max(0, self.producers - 1)


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of one list, newest first; root of the panels integrity/<list>."""

    rows: Sequence[Group]
    has_more: bool  # whether there are reasons that are not shown
    all_url: str


def groups(name: str, projects: Collection[int]) -> Mapping[int, Groups]:
    """Return the groups of the list `name` by project. Three queries for one project."""
    return {pk: _groups(name, pk, slug) for pk, slug in slugs(projects).items()}


def _groups(name: str, project: int, slug: str) -> Groups:
    source = SOURCES[name]
    found = list(
        source.rows(project)
        .order_by()
        .values(reason=F(source.reason))
        .annotate(
            count=Count("pk"),
            first=Min(source.at),
            last=Max(source.at),
            oldest=Min("pk"),
            newest=Max("pk"),
            producers=Count(source.producer, distinct=True),
        )
        .order_by("-last", "reason")[: GROUPS + 1]
    )
    shown = found[:GROUPS]
    examples = source.detailed(source.rows(project)).in_bulk([row["newest"] for row in shown])
    rows = [
        Group(
            oldest=row["oldest"],
            reason=reason_label(name, row["reason"]),
            count=row["count"],
            first=row["first"],
            last=row["last"],
            producers=row["producers"],
            example=source.shown(slug, examples[row["newest"]]),
            url=Filters(list=name, reason=row["reason"]).query,
        )
        for row in shown
        if row["newest"] in examples  # else it was deleted between the two queries
    ]
    return Groups(rows, len(found) > GROUPS, Filters(list=name).query)
