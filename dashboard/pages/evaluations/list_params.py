"""Query parameters of the list of evaluations: validated once, written back into links."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dashboard.web.filters import Filter, Page
from dashboard.web.keyset import Cursor, Order
from dashboard.web.query_params import Address, Reading
from dashboard.web.time_range import read_range

if TYPE_CHECKING:
    from django.http import QueryDict

WINDOWS = ("24h", "7d", "30d", "90d", "all")
CONFIGS_MAX = 5  # each is one more condition
NEWEST = Order("began_at")  # an annotation of the rows that match
VERDICTS = {
    "judged": "Judged",
    "rule": "By rule",
    "fallback": "Fallback",
    "none": "Not decided",
}
FILTERS = Page(
    filters=(
        Filter("config", "config"),
        Filter("winner", "winner"),
        Filter("verdict", "verdict", VERDICTS, shown=VERDICTS.__getitem__),
        Filter("session", "session"),
    ),
    windows=WINDOWS,
)


@dataclass(frozen=True, slots=True)
class Filters(Address):
    """The list's query string. Configs are identified by their keys."""

    config: tuple[str, ...] = ()  # evaluations in which all of these took part
    winner: tuple[str, ...] = ()
    verdict: tuple[str, ...] = ()
    since: str = "all"
    until: str = ""
    session: int | None = None
    before: Cursor | None = None  # start after this evaluation, newest first
    after: Cursor | None = None  # end before this evaluation
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, params: QueryDict) -> Filters:
        """Parse a query string; an invalid parameter is ignored and becomes a note."""
        read = Reading(params)
        since, until = read_range(read, WINDOWS, "all")
        config = read.values("config")
        for key in config[CONFIGS_MAX:]:
            read.ignore("config", key, f"at most {CONFIGS_MAX} can be selected")
        return cls(
            config=config[:CONFIGS_MAX],
            winner=read.values("winner"),
            verdict=read.values("verdict", VERDICTS),
            since=since,
            until=until,
            session=read.key("session"),
            before=read.cursor("before", NEWEST),
            after=read.cursor("after", NEWEST),
            notes=tuple(read.notes),
        )
