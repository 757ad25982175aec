"""Query parameters of both lists: validated once, written back into links."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from django.db.models import Case, F, Value, When
from django.db.models.functions import Coalesce

from dashboard.query_conditions.box import Parsed, parsed
from dashboard.shared.queries.session_filter import TOKENS
from dashboard.shared.time_functions import microseconds
from dashboard.web.filters import FilterPage
from dashboard.web.keyset import RECORDED, Cursor, Order
from dashboard.web.query_params import Address, Reading
from dashboard.web.time_range import read_range

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.db.models.expressions import Combinable
    from django.http import QueryDict

WINDOWS = ("24h", "7d", "30d", "90d", "all")
USUAL = "7d"
FILTERS = FilterPage(filters=(), windows=WINDOWS)
TURN_ERRORS = F("tool_errors") + Case(When(error="", then=Value(0)), default=Value(1))
_OF_TURNS: Mapping[str, Combinable] = {
    "tokens": TOKENS,
    "duration": Coalesce(microseconds("started_at", F("ended_at")), Value(-1)),
    "tools": F("tool_calls"),
    "errors": TURN_ERRORS,
}
_OF_CALLS: Mapping[str, Combinable] = {
    "duration": Coalesce("duration_ms", Value(-1)),
    "errors": Case(When(state="failed", then=Value(1)), default=Value(0)),
}


def _orders(numbers: Mapping[str, Combinable]) -> dict[str, Order]:
    return {
        f"{sign}{name}": Order(name, newest_first=bool(sign), number=number)
        for name, number in numbers.items()
        for sign in ("-", "")
    }


TURN_SORTS = {
    "turn": Order("", newest_first=False),
    "-turn": RECORDED,
    "-cost": Order("cost_nano"),
    "cost": Order("cost_nano", newest_first=False),
} | _orders(_OF_TURNS)
# `began_at` is an annotation of the calls that match.
CALL_SORTS = {
    "-when": Order("began_at"),
    "when": Order("began_at", newest_first=False),
} | _orders(_OF_CALLS)


@dataclass(frozen=True, slots=True)
class Turns(Address):
    """The query string of a session's turns."""

    sort: str = "turn"
    before: Cursor | None = None  # start after this row, in the list's order
    after: Cursor | None = None  # end before this row
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, params: QueryDict) -> Self:
        """Parse a query string; an invalid parameter is ignored and becomes a note."""
        read = Reading(params)
        sort = read.choice("sort", TURN_SORTS, "turn")
        order = TURN_SORTS[sort]
        before, after = read.cursor("before", order), read.cursor("after", order)
        return cls(sort, before, after, tuple(read.notes))

    @property
    def order(self) -> Order:
        return TURN_SORTS[self.sort]


@dataclass(frozen=True, slots=True)
class Calls(Address):
    """The query string of a project's tool calls."""

    q: str = ""
    since: str = USUAL
    until: str = ""
    sort: str = "-when"
    before: Cursor | None = None
    after: Cursor | None = None
    reader: int = field(default=0, compare=False)  # the user, if the rows differ by who reads them
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, params: QueryDict, reader: int | None = None) -> Self:
        """Parse a query string; an invalid parameter is ignored and becomes a note."""
        read = Reading(params)
        text = params.get("q", "").strip()
        since, until = read_range(read, WINDOWS, USUAL)
        sort = read.choice("sort", CALL_SORTS, "-when")
        order = CALL_SORTS[sort]
        return cls(
            q=text,
            since=since,
            until=until,
            sort=sort,
            before=read.cursor("before", order),
            after=read.cursor("after", order),
            reader=parsed(text).reader(reader),
            notes=tuple(read.notes),
        )

    @property
    def order(self) -> Order:
        return CALL_SORTS[self.sort]

    @property
    def query_text(self) -> Parsed:
        return parsed(self.q)
