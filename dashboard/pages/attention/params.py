"""Query parameters of the attention page: a query, a kind, and where its lists start."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from dashboard.query_conditions.box import parsed
from dashboard.query_language.choices import MenuKey, MenuKeys, chosen
from dashboard.web.filters import Filter, FilterPage
from dashboard.web.keyset import Cursor, Order
from dashboard.web.lists.address import ListAddress, read_view
from dashboard.web.query_params import Reading, whole_number
from recorder.core.sources import SOURCES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.http import QueryDict

LATEST, ALARMED = Order("last_event_at"), Order("alarmed_at")
KINDS = {
    "waiting": "Open questions",
    "mentions": "Mentions",
    "waste": "Waste",
    "failed": "Failures",
    "finished": "Finished",
}
PERIODS = {"today": "Today", "yesterday": "Yesterday", "week": "This week", "7d": "7 days"}
FILTERS = FilterPage(filters=(Filter("kind", "kind", KINDS, is_single=True),), keeps=())
MENUS = MenuKeys((MenuKey("agent", "agent"), MenuKey("source", "source", SOURCES)))
_PLACE = re.compile(r"([01])\.(.+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Place:
    """Position in the list of failures or of alarms: unread ones first, then latest first."""

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
class AttentionParams(ListAddress):
    """The query string: a query on sessions, one kind or all, and positions in three lists."""

    q: str = ""
    kind: str = ""
    period: str = "7d"  # of the failures by reason
    waiting: int | None = None  # the approval after which the list of questions starts
    failed: Place | None = None
    waste: Place | None = None
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, query: QueryDict, reader: int | None = None) -> AttentionParams:
        """Parse a query string; an invalid filter becomes a note, an invalid position is ignored."""
        read = Reading(query)
        text = MENUS.text(read, query)
        _, saved = read_view(read)
        return cls(
            saved=saved,
            q=text,
            kind=read.choice("kind", KINDS, ""),
            reader=parsed(text).reader(reader),
            period=read.choice("period", PERIODS, "7d"),
            waiting=whole_number(query.get("waiting", "")),
            failed=_place(query.get("failed", "")),
            waste=_place(query.get("waste", "")),
            notes=tuple(read.notes),
        )

    def but(self, **changes: Any) -> AttentionParams:
        """Return a copy with `changes`, all lists at their start."""
        return replace(self, **{"waiting": None, "failed": None, "waste": None} | changes)

    @property
    def positions(self) -> list[tuple[str, str]]:
        """Return the parameters that are no filters, as fields of a form."""
        places = {"waiting": self.waiting, "failed": self.failed, "waste": self.waste}
        return [(name, str(place)) for name, place in places.items() if place is not None]

    def shows(self, kind: str) -> bool:
        """Return whether the page lists this kind."""
        return self.kind in ("", kind)

    @property
    def has_sessions(self) -> bool:
        """Return whether the query selects sessions."""
        return bool(self.q)

    @property
    def chosen(self) -> Mapping[str, tuple[str, ...]]:
        """Return the values of each key that menus have chosen."""
        return chosen(parsed(self.q).node)


def _place(text: str) -> Place | None:
    try:
        return Place.parse(text)
    except ValueError:
        return None
