"""Query parameters of the list of compactions: validated once, written back into links."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dashboard.query_conditions.box import parsed
from dashboard.query_language.choices import MenuKey, MenuKeys, chosen
from dashboard.web.filters import Filter, FilterPage
from dashboard.web.keyset import Cursor, Order
from dashboard.web.lists.address import ListAddress, read_view
from dashboard.web.lists.columns import Column, Columns
from dashboard.web.query_params import Reading
from dashboard.web.time_range import read_range

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.http import QueryDict

NEWEST = Order("at")  # an annotation of the rows that match
WINDOWS = ("24h", "7d", "30d", "90d", "all")
COLUMNS = Columns(
    "session",
    (
        Column("config", "Config, agent"),
        Column("messages", "Messages", is_right=True, title="Reported by the compaction"),
        Column("tokens", "Tokens", is_right=True, title="Reported by the compaction"),
        Column("smaller", "Smaller", is_right=True, title="Reported by the compaction"),
        Column(
            "sent",
            "Sent",
            is_right=True,
            title="Requests of the last call before and the first call after, as counted by the provider",
        ),
        Column(
            "savings",
            "Net savings",
            is_right=True,
            title="Tokens saved since, minus the cost of the compaction and of rebuilding the cache",
        ),
        Column("when", "When", is_right=True, sort="when"),
        Column("agent", "Agent", is_usual=False),
        Column("state", "State", is_usual=False),
        Column("content", "Content", is_usual=False, title="What is recorded of the shortened context"),
        Column("loops", "Loops shortened", is_right=True, is_usual=False),
    ),
)
FILTERS = FilterPage(
    filters=(Filter("session", "session"),),
    windows=WINDOWS,
)
MENUS = MenuKeys((MenuKey("config", "config"), MenuKey("agent", "agent")))


@dataclass(frozen=True, slots=True)
class Filters(ListAddress):
    """The list's query string."""

    q: str = ""
    since: str = "all"
    until: str = ""
    session: int | None = None
    before: Cursor | None = None  # start after this compaction, newest first
    after: Cursor | None = None  # end before this compaction
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, params: QueryDict, reader: int | None = None) -> Filters:
        """Parse a query string; an invalid parameter is ignored and becomes a note."""
        read = Reading(params)
        text = MENUS.text(read, params)
        since, until = read_range(read, WINDOWS, "all")
        _, saved = read_view(read)
        return cls(
            saved=saved,
            cols=COLUMNS.read(read),
            q=text,
            reader=parsed(text).reader(reader),
            since=since,
            until=until,
            session=read.key("session"),
            before=read.cursor("before", NEWEST),
            after=read.cursor("after", NEWEST),
            notes=tuple(read.notes),
        )

    @property
    def chosen(self) -> Mapping[str, tuple[str, ...]]:
        """Return the values of each key that menus have chosen."""
        return chosen(parsed(self.q).node)
