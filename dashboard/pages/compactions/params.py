"""Query parameters of the list of compactions: validated once, written back into links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dashboard.web.keyset import RECORDED, Cursor
from dashboard.web.query_params import Address, Choices, Reading

if TYPE_CHECKING:
    from django.http import QueryDict

WINDOWS = ("24h", "7d", "30d", "90d", "all")


@dataclass(frozen=True, slots=True)
class Filters(Address):
    """The list's query string. A config is identified by its key."""

    config: str = ""
    agent: str = ""
    since: str = "all"
    session: int | None = None
    before: Cursor | None = None  # start after this compaction, newest first
    after: Cursor | None = None  # end before this compaction

    @classmethod
    def parse(cls, params: QueryDict) -> Filters:
        """Parse a query string; invalid parameters are ignored."""
        read = Reading(params)
        return cls(
            config=read.text("config"),
            agent=read.text("agent"),
            since=read.choice("since", WINDOWS, "all"),
            session=read.key("session"),
            before=read.cursor("before", RECORDED),
            after=read.cursor("after", RECORDED),
        )

    @property
    def windows(self) -> Choices:
        return self.choices("since", WINDOWS)

    @property
    def without_session(self) -> str:
        return self.but(session=None).query
