"""Query parameters of the insights page. An invalid parameter is ignored and becomes a note."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dashboard.web.filters import Filter, FilterPage
from dashboard.web.keyset import Cursor, Order
from dashboard.web.query_params import Address, Reading

if TYPE_CHECKING:
    from django.http import QueryDict

KINDS = {"": "All", "procedure": "Procedures", "solution": "Error solutions", "fact": "Facts"}
NEWEST = Order("last_at")
FILTERS = FilterPage(filters=(Filter("kind", "kind"), Filter("agent", "agent")), keeps=("dismissed",))


@dataclass(frozen=True, slots=True)
class InsightsParams(Address):
    """The query string; `undo` is the insight that was just dismissed or restored."""

    kind: str = ""
    agent: tuple[str, ...] = ()
    dismissed: bool = False
    before: Cursor | None = None  # start after this insight, newest first
    after: Cursor | None = None  # end before this insight
    undo: int | None = None
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, params: QueryDict) -> InsightsParams:
        """Parse a query string or the fields of a form."""
        read = Reading(params)
        return cls(
            kind=read.choice("kind", KINDS, ""),
            agent=read.values("agent"),
            dismissed=read.choice("dismissed", ("1",), "") == "1",
            before=read.cursor("before", NEWEST),
            after=read.cursor("after", NEWEST),
            undo=read.key("undo"),
            notes=tuple(read.notes),
        )

    @property
    def is_narrow(self) -> bool:
        return bool(self.kind or self.agent)

    @property
    def switched(self) -> str:
        return self.but(dismissed=not self.dismissed).query

    @property
    def all(self) -> str:
        return self.but(kind="", agent=()).query
