"""Query parameters of the integrity page."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dashboard.web.query_params import Address, Reading

if TYPE_CHECKING:
    from django.http import QueryDict

LISTS = ("rejected", "orphans", "inconsistencies")


@dataclass(frozen=True, slots=True)
class Filters(Address):
    """All groups, or one list: of one reason, or of all."""

    list: str = ""  # one of LISTS; "" shows the groups of all three
    reason: str = ""  # code of a rejected line, type of an orphan event, kind of an inconsistency
    before: int | None = None  # primary key after which this page of the list starts, newest first
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, params: QueryDict) -> Filters:
        """Parse a query string; an invalid parameter is ignored and becomes a note."""
        read = Reading(params)
        name, reason, before = read.choice("list", LISTS, ""), read.text("reason"), read.key("before")
        notes = tuple(read.notes)
        return cls(name, reason, before, notes) if name else cls(notes=notes)
