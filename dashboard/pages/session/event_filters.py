"""Filters of a list of events: the query string of the Events tab."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dashboard.web.filters import Filter, FilterPage, Menu, choices, options
from dashboard.web.query_params import Address, Reading, whole_number
from recorder.core.formats.native import EVENT_TYPES

if TYPE_CHECKING:
    from django.http import QueryDict

KINDS = {"turns": "Turns", "tools": "Tools", "errors": "Errors"}
SESSION = "session"  # the scope of all loops
FILTERS = FilterPage(
    filters=(Filter("kind", "kind", KINDS, shown=KINDS.__getitem__), Filter("type", "type")),
    keeps=("tab", "scope", "at"),
)
DELTA = "MessageUpdate"  # counted between the rows of a list, never a row


@dataclass(frozen=True, slots=True)
class EventFilters(Address):
    """The parameters that select the events of a list."""

    tab: str = ""
    scope: str = ""  # SESSION, or "" for one loop
    kind: tuple[str, ...] = ()  # any of KINDS
    type: tuple[str, ...] = ()
    at: int | None = None  # the session is shown as of this event
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, params: QueryDict) -> EventFilters:
        """Parse a query string; an invalid filter becomes a note."""
        read = Reading(params)
        return cls(
            tab="events",
            scope=SESSION if params.get("scope") == SESSION else "",
            kind=read.values("kind", KINDS),
            type=read.values("type"),
            at=whole_number(params.get("at", "")),
            notes=tuple(read.notes),
        )


def menus(filters: EventFilters) -> Sequence[Menu]:
    """Return the kinds, and the types that are known or selected: the same for a list that grows."""
    known = [name for name in EVENT_TYPES if name != DELTA]
    return (
        Menu("Kind", choices("kind", KINDS, filters.kind)),
        Menu("Type", options("type", known, filters.type)),
    )
