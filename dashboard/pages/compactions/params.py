"""Query parameters of the list of compactions: validated once, written back into links."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dashboard.web.filters import Filter, Page
from dashboard.web.keyset import RECORDED, Cursor
from dashboard.web.query_params import Address, Reading
from dashboard.web.time_range import read_range

if TYPE_CHECKING:
    from django.http import QueryDict

WINDOWS = ("24h", "7d", "30d", "90d", "all")
FILTERS = Page(
    filters=(Filter("config", "config"), Filter("agent", "agent"), Filter("session", "session")),
    windows=WINDOWS,
)


@dataclass(frozen=True, slots=True)
class Filters(Address):
    """The list's query string. A config is identified by its key."""

    config: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    since: str = "all"
    until: str = ""
    session: int | None = None
    before: Cursor | None = None  # start after this compaction, newest first
    after: Cursor | None = None  # end before this compaction
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, params: QueryDict) -> Filters:
        """Parse a query string; an invalid parameter is ignored and becomes a note."""
        read = Reading(params)
        since, until = read_range(read, WINDOWS, "all")
        return cls(
            config=read.values("config"),
            agent=read.values("agent"),
            since=since,
            until=until,
            session=read.key("session"),
            before=read.cursor("before", RECORDED),
            after=read.cursor("after", RECORDED),
            notes=tuple(read.notes),
        )
