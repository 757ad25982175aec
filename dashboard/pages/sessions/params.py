"""Query parameters of the list of sessions: validated once, written back into links."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from dashboard.pages.sessions import old_parameters
from dashboard.query_conditions.box import Parsed, parsed
from dashboard.query_language import print_query
from dashboard.query_language.choices import chosen
from dashboard.shared.queries.session_filter import SILENT, SORTS, Wanted
from dashboard.web.filters import Filter, FilterPage
from dashboard.web.keyset import Cursor, Order
from dashboard.web.lists.address import ListAddress, read_view
from dashboard.web.lists.columns import Column, Columns
from dashboard.web.query_params import Reading
from dashboard.web.time_range import read_range, time_range

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.http import QueryDict


WINDOWS = ("1h", "24h", "7d", "30d", "all")
VIEWS = {  # the filter value of each
    "running": "is_running",
    "waiting": "is_waiting",
    "stale": "is_stale",
    "evaluations": "has_groups",
    "failed": "has_failed",
}
SORT_WORDS = {
    "-activity": "Last activity first",
    "activity": "Last activity last",
    "-created": "Newest first",
    "created": "Oldest first",
    "-cost": "Highest cost first",
    "cost": "Lowest cost first",
    "-tokens": "Most tokens first",
    "-duration": "Longest first",
    "-errors": "Most errors first",
    "tokens": "Fewest tokens first",
    "duration": "Shortest first",
    "errors": "Fewest errors first",
}
FILTERS = FilterPage(filters=(Filter("status", "recorded status"),), windows=WINDOWS)
COLUMNS = Columns(
    "session",
    (
        Column("loops", "Loops", is_right=True),
        Column("turns", "Turns", is_right=True),
        Column("configs", "Model configs"),
        Column("tokens", "Tokens", sort="tokens"),
        Column(
            "cost",
            "Cost, by config",
            title="Bar length: cost relative to the most expensive session on this page",
            sort="cost",
        ),
        Column("duration", "Duration", is_right=True, sort="duration"),
        Column("activity", "Last activity", is_right=True, sort="activity"),
        Column("created", "Created", is_right=True, sort="created", is_usual=False),
        Column("agent", "Agent", is_usual=False),
        Column("source", "Source", is_usual=False),
        Column("outcome", "Outcome", is_usual=False),
        Column("tools", "Tool calls", is_right=True, is_usual=False),
        Column("errors", "Errors", is_right=True, sort="errors", is_usual=False),
        Column("agents", "Sub-agents", is_right=True, is_usual=False),
        Column("compactions", "Compactions", is_right=True, is_usual=False),
        Column("events", "Events", is_right=True, is_usual=False),
        Column("id", "Session id", is_usual=False),
    ),
)


@dataclass(frozen=True, slots=True)
class Filters(ListAddress):
    """The list's query string. `notes` name the parameters that were invalid and ignored."""

    q: str = ""  # the query; other filters that addresses may have are written into it
    view: str = ""
    status: tuple[str, ...] = ()  # the record's, of older addresses: no condition of a query
    since: str = "all"
    until: str = ""
    sort: str = "-activity"
    before: Cursor | None = None  # start after this row, in the list's order
    after: Cursor | None = None  # end before this row
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, params: QueryDict, reader: int | None = None) -> Filters:
        """Parse a query string; an invalid parameter is ignored and becomes a note."""
        read = Reading(params)
        text = params.get("q", "").strip()
        query = parsed(text)
        if query.error is None:
            text = print_query(old_parameters.merged(read, params, query.node))
        sort = read.choice("sort", SORTS, "-activity")
        since, until = read_range(read, WINDOWS, "all")
        view, saved = read_view(read, VIEWS)
        return cls(
            q=text,
            view=view,
            saved=saved,
            cols=COLUMNS.read(read),
            status=tuple(
                value for value in read.values("status", old_parameters.STATUSES) if value not in SILENT
            ),
            since=since,
            until=until,
            sort=sort,
            before=read.cursor("before", SORTS[sort]),
            after=read.cursor("after", SORTS[sort]),
            reader=query.reader(reader),
            notes=tuple(dict.fromkeys(read.notes)),
        )

    @property
    def order(self) -> Order:
        return SORTS[self.sort]

    @property
    def query_text(self) -> Parsed:
        return parsed(self.q)

    @property
    def chosen(self) -> Mapping[str, tuple[str, ...]]:
        """Return the values of each key that menus have chosen."""
        return chosen(self.query_text.node)

    @property
    def is_filtered(self) -> bool:
        """Return whether anything but the time range narrows the list."""
        return bool(self.q or self.view or self.status)

    def wanted(self, now: datetime) -> Wanted:
        """Return the filter conditions at `now`, apart from those of the query."""
        within = time_range(self, now)
        view: dict[str, Any] = {VIEWS[self.view]: True} if self.view else {}
        return Wanted(status=self.status, since=within.start, until=within.end, now=now, **view)
