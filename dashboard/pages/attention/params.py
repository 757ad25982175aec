"""Query parameters of the attention page: filters, and where the lists of questions and failures start."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from dashboard.web.filters import Filter, Page
from dashboard.web.keyset import Cursor, Order
from dashboard.web.query_params import Address, Reading, whole_number
from recorder.core.formats.registry import SOURCES

if TYPE_CHECKING:
    from django.http import QueryDict

LATEST = Order("last_event_at")
FILTERS = Page(
    filters=(Filter("agent", "agent"), Filter("source", "source")),
    keeps=(),
)
_PLACE = re.compile(r"([01])\.(.+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Place:
    """Position in the list of failures: unread ones first, then latest first."""

    has_seen: bool
    cursor: Cursor

    def __str__(self) -> str:
        return f"{self.has_seen:d}.{self.cursor}"

    @classmethod
    def parse(cls, text: str) -> Place:
        """Parse a position. Raises ValueError."""
        match = _PLACE.fullmatch(text)
        if match is None:
            raise ValueError("not a position")
        return cls(match[1] == "1", LATEST.parse(match[2]))


@dataclass(frozen=True, slots=True)
class Params(Address):
    """The query string: sessions of these agents and sources only, and positions in two lists."""

    agent: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    waiting: int | None = None  # the approval after which the list of questions starts
    failed: Place | None = None
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, query: QueryDict) -> Params:
        """Parse a query string; an invalid filter becomes a note, an invalid position is ignored."""
        read = Reading(query)
        return cls(
            agent=read.values("agent"),
            source=read.values("source", SOURCES),
            waiting=whole_number(query.get("waiting", "")),
            failed=_place(query.get("failed", "")),
            notes=tuple(read.notes),
        )

    def but(self, **changes: Any) -> Params:
        """Return a copy with `changes`, both lists at their start."""
        return replace(self, **{"waiting": None, "failed": None} | changes)

    @property
    def positions(self) -> list[tuple[str, str]]:
        """Return the parameters that are no filters, as fields of a form."""
        places = {"waiting": self.waiting, "failed": self.failed}
        return [(name, str(place)) for name, place in places.items() if place is not None]

    @property
    def has_sessions(self) -> bool:
        """Return whether the filters select sessions."""
        return bool(self.agent or self.source)


def _place(text: str) -> Place | None:
    try:
        return Place.parse(text)
    except ValueError:
        return None
