"""Query parameters of the list of evaluations: validated once, written back into links."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dashboard.query_conditions.box import parsed
from dashboard.query_language.choices import EACH, MenuKey, MenuKeys, chosen
from dashboard.web.filters import Filter, FilterPage
from dashboard.web.keyset import Cursor, Order
from dashboard.web.lists.address import ListAddress, read_view
from dashboard.web.lists.columns import Column, Columns
from dashboard.web.query_params import Reading
from dashboard.web.time_range import read_range

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.http import QueryDict

WINDOWS = ("24h", "7d", "30d", "90d", "all")
NEWEST = Order("began_at")  # an annotation of the rows that match
VERDICTS = {
    "judged": "Judged",
    "rule": "By rule",
    "fallback": "Fallback",
    "none": "Not decided",
}
COLUMNS = Columns(
    "evaluation",
    (
        Column("branches", "Branches"),
        Column("verdict", "Verdict"),
        Column("cost", "Cost", is_right=True),
        Column(
            "overhead",
            "Overhead",
            is_right=True,
            title="Cost of the other branches and the judge, as a multiple of the winner's cost",
        ),
        Column("winner", "Winner", is_right=True),
        Column(
            "runner-up",
            "Runner-up",
            is_right=True,
            title="Cost of the cheapest other completed branch; below it, how much more the winner cost",
        ),
        Column("duration", "Duration", is_right=True),
        Column("started", "Started", is_right=True, sort="started"),
        Column("session", "Session", is_usual=False),
        Column("chosen", "Winning config", is_usual=False),
        Column("count", "Number of branches", is_right=True, is_usual=False),
    ),
)
FILTERS = FilterPage(
    filters=(Filter("session", "session"),),
    windows=WINDOWS,
)
MENUS = MenuKeys(
    (
        MenuKey("config", "config"),
        MenuKey("winner", "winner"),
        MenuKey("verdict", "evaluation", tuple(VERDICTS)),
    ),
    each=(*EACH, "config"),  # evaluations in which all of them took part
)


@dataclass(frozen=True, slots=True)
class Filters(ListAddress):
    """The list's query string."""

    q: str = ""
    since: str = "all"
    until: str = ""
    session: int | None = None
    before: Cursor | None = None  # start after this evaluation, newest first
    after: Cursor | None = None  # end before this evaluation
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
