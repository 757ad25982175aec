"""What of the attention page was asked for: after which question and which failure its lists go on."""

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
    """A failure's place in its list: those that were not seen come first, of either the latest."""

    has_seen: bool
    cursor: Cursor

    def __str__(self) -> str:
        return f"{self.has_seen:d}.{self.cursor}"

    @classmethod
    def parse(cls, text: str) -> Place:
        """Read a place back. Raises ValueError."""
        match = _PLACE.fullmatch(text)
        if match is None:
            raise ValueError("not a place")
        return cls(match[1] == "1", LATEST.parse(match[2]))


@dataclass(frozen=True, slots=True)
class Params:
    """The query string; what makes no sense in it says nothing."""

    waiting: int | None = None
    failed: Place | None = None

    @classmethod
    def parse(cls, query: QueryDict) -> Params:
        """Read the query string."""
        return cls(whole_number(query.get("waiting", "")), _place(query.get("failed", "")))

    def pairs(self) -> dict[str, str]:
        """Return it as it stands in a link."""
        given = {"waiting": self.waiting, "failed": self.failed}
        return {name: str(value) for name, value in given.items() if value is not None}


def _place(text: str) -> Place | None:
    try:
        return Place.parse(text)
    except ValueError:
        return None
