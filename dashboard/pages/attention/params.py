"""Query parameters of the attention page: where its lists of questions and of failures start."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dashboard.web.keyset import Cursor, Order
from dashboard.web.query_params import whole_number

if TYPE_CHECKING:
    from django.http import QueryDict

LATEST = Order("last_event_at")
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
class Params:
    """The query string; invalid parameters are ignored."""

    waiting: int | None = None
    failed: Place | None = None

    @classmethod
    def parse(cls, query: QueryDict) -> Params:
        """Parse a query string."""
        return cls(whole_number(query.get("waiting", "")), _place(query.get("failed", "")))

    def pairs(self) -> dict[str, str]:
        """Return names and values of the query string."""
        given = {"waiting": self.waiting, "failed": self.failed}
        return {name: str(value) for name, value in given.items() if value is not None}


def _place(text: str) -> Place | None:
    try:
        return Place.parse(text)
    except ValueError:
        return None
