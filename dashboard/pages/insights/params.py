"""Query parameters of the insights page. Invalid parameters are ignored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dashboard.web.keyset import Cursor, Order
from dashboard.web.query_params import Address, Choices, Reading

if TYPE_CHECKING:
    from django.http import QueryDict

KINDS = {"": "All", "procedure": "Procedures", "solution": "Error solutions", "fact": "Facts"}
NEWEST = Order("last_at")


@dataclass(frozen=True, slots=True)
class Params(Address):
    """The query string; `undo` is the insight that was just dismissed or restored."""

    kind: str = ""
    agent: str = ""
    dismissed: bool = False
    before: Cursor | None = None  # start after this insight, newest first
    after: Cursor | None = None  # end before this insight
    undo: int | None = None

    @classmethod
    def parse(cls, params: QueryDict) -> Params:
        """Parse a query string or the fields of a form."""
        read = Reading(params)
        return cls(
            kind=read.choice("kind", KINDS, ""),
            agent=read.text("agent"),
            dismissed=read.choice("dismissed", ("1",), "") == "1",
            before=read.cursor("before", NEWEST),
            after=read.cursor("after", NEWEST),
            undo=read.key("undo"),
        )

    @property
    def is_narrow(self) -> bool:
        return bool(self.kind or self.agent)

    @property
    def kinds(self) -> Choices:
        """Return the options of the filter by kind: label, link, whether it is selected."""
        return [(KINDS[kind], link, is_chosen) for kind, link, is_chosen in self.choices("kind", KINDS)]

    @property
    def switched(self) -> str:
        return self.but(dismissed=not self.dismissed).query

    @property
    def all(self) -> str:
        return self.but(kind="", agent="").query
