"""Problems grouped by reason: how many, when, from whom, and one example of each.

A flood of bad lines has few reasons, so the page stays short. Cost: two queries a list; rejected lines are
counted from an index that covers them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, F, Max, Min, QuerySet

from dashboard.pages.integrity.params import LISTS, Filters
from dashboard.pages.integrity.queries.lists import SOURCES, Row, reason_label, slugs
from dashboard.pages.integrity.words import sentence
from dashboard.rendering.number_format import exact
from dashboard.web.filters import Menu, Option
from recorder.core.content.text import clean

OPTIONS_MAX = 50  # of one menu and list
NOUNS = {
    "rejected": "line,lines",
    "orphans": "event,events",
    "inconsistencies": "inconsistency,inconsistencies",
    "spans": "body,bodies",
    "unrecorded": "trace,traces",
}
GROUPS = 50  # shown of one list: types of events are free text


@dataclass(frozen=True, slots=True)
class Group:
    """All rows of one list with the same reason."""

    oldest: int  # primary key of the oldest row: the group's name in the DOM
    sentence: str  # the meaning of the reason; "" if the reason says it itself
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

    name: str
    rows: Sequence[Group]
    has_more: bool  # whether there are reasons that are not shown
    all_url: str

    @property
    def title(self) -> str:
        return LISTS[self.name]

    @property
    def noun(self) -> str:
        """Return what is counted, singular and plural."""
        return NOUNS[self.name]

    @property
    def example(self) -> str:
        """Return the template of an example."""
        return f"integrity/examples/{self.name}.html"


def groups(name: str, filters: Filters, projects: Collection[int]) -> Mapping[int, Groups]:
    """Return the groups of the list `name` by project. Three queries for one project."""
    return {pk: _groups(name, filters, pk, slug) for pk, slug in slugs(projects).items()}


def _groups(name: str, filters: Filters, project: int, slug: str) -> Groups:
    source, listed = SOURCES[name], filters.but(list=name)
    found = list(
        source.matching(project, filters)
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
            sentence=(words := sentence(name, row["reason"])),
            reason=clean(row["reason"]) if words else reason_label(name, row["reason"]),
            count=row["count"],
            first=row["first"],
            last=row["last"],
            producers=row["producers"],
            example=source.shown(slug, examples[row["newest"]]),
            url=listed.but(reason=(row["reason"],)).query,
        )
        for row in shown
        if row["newest"] in examples  # else it was deleted between the two queries
    ]
    return Groups(name, rows, len(found) > GROUPS, listed.query)


def menus(project: int, filters: Filters) -> Sequence[Menu]:
    """Return reasons and producers of the lists that the page shows, with counts. Two queries a list.

    The count of an option is the number of rows with it under all other filters. At most OPTIONS_MAX each,
    the most frequent ones, and those that are selected.
    """
    reasons: dict[str, tuple[str, int]] = {}
    producers: dict[str, tuple[str, int]] = {}
    for name in [filters.list] if filters.list else LISTS:
        source = SOURCES[name]
        by_reason = _counts_by(source.matching(project, filters.but(reason=())), source.reason)
        _add(reasons, ((reason, reason_label(name, reason), count) for reason, count in by_reason))
        by_producer = _counts_by(source.matching(project, filters.but(producer=())), source.producer_name)
        _add(producers, ((producer, clean(producer), count) for producer, count in by_producer if producer))
    return (
        Menu("Reason", _options("reason", reasons, filters.reason)),
        Menu("Producer", _options("producer", producers, filters.producer)),
    )


def _add(counts: dict[str, tuple[str, int]], more: Iterable[tuple[str, str, int]]) -> None:
    """Add options of one list, as value, label and count, to those of the others."""
    for value, label, count in more:
        counts[value] = (label, counts[value][1] + count if value in counts else count)


def _counts_by(rows: QuerySet[Any], column: str) -> list[tuple[str, int]]:
    counted = rows.order_by().values(option=F(column)).annotate(count=Count("pk"))
    return list(counted.order_by("-count", "option").values_list("option", "count")[:OPTIONS_MAX])


def _options(name: str, counts: Mapping[str, tuple[str, int]], chosen: Sequence[str]) -> list[Option]:
    """Return the options by label; a selected one that no row has counts 0."""
    every = {value: (clean(value), 0) for value in chosen} | dict(counts)
    found = [
        Option(name, value, label, value in chosen, count=exact(count))
        for value, (label, count) in every.items()
    ]
    return sorted(found, key=lambda option: (option.label.casefold(), option.value))
