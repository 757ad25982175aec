"""Query parameters of the list of evaluations: validated once, written back into links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dashboard.web.keyset import Cursor, Order
from dashboard.web.query_params import Address, Choices, Reading

if TYPE_CHECKING:
    from django.http import QueryDict

WINDOWS = ("24h", "7d", "30d", "90d", "all")
CONFIGS_MAX = 2
NEWEST = Order("began_at")  # an annotation of the rows that match
VERDICTS = {
    "judged": "Judged",
    "rule": "By rule",
    "fallback": "Fallback",
    "none": "Not decided",
}


@dataclass(frozen=True, slots=True)
class Filters(Address):
    """The list's query string. Configs are identified by their keys."""

    config: tuple[str, ...] = ()  # evaluations in which all of these took part
    winner: str = ""
    verdict: str = ""
    since: str = "all"
    session: int | None = None
    before: Cursor | None = None  # start after this evaluation, newest first
    after: Cursor | None = None  # end before this evaluation

    @classmethod
    def parse(cls, params: QueryDict) -> Filters:
        """Parse a query string; invalid parameters are ignored."""
        read = Reading(params)
        return cls(
            config=read.values("config")[:CONFIGS_MAX],
            winner=read.text("winner"),
            verdict=read.choice("verdict", VERDICTS, ""),
            since=read.choice("since", WINDOWS, "all"),
            session=read.key("session"),
            before=read.cursor("before", NEWEST),
            after=read.cursor("after", NEWEST),
        )

    @property
    def windows(self) -> Choices:
        return self.choices("since", WINDOWS)

    @property
    def without_session(self) -> str:
        return self.but(session=None).query
