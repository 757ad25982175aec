"""Query parameters of the leaderboard: validated once, written back into links."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from dashboard.web.filters import Filter, Page, Search
from dashboard.web.query_params import Address, Reading
from dashboard.web.time_range import read_range

if TYPE_CHECKING:
    from django.http import QueryDict

WINDOWS = ("7d", "30d", "90d", "all")
FILTERS = Page(filters=(Filter("agent", "agent"), Filter("judge", "judge")), windows=WINDOWS)
SEARCH = Search("task", "Task", "Task: title, prompt, agent")


@dataclass(frozen=True, slots=True)
class Params(Address):
    """Filters on the groups; `notes` name the parameters that were invalid and ignored."""

    since: str = "all"
    until: str = ""
    task: str = ""  # words to find in the session
    agent: tuple[str, ...] = ()
    judge: tuple[str, ...] = ()  # keys of configs
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, params: QueryDict) -> Params:
        """Parse a query string; an invalid parameter is ignored and becomes a note."""
        read = Reading(params)
        since, until = read_range(read, WINDOWS, "all")
        return cls(
            since=since,
            until=until,
            task=read.words("task"),
            agent=read.values("agent"),
            judge=read.values("judge"),
            notes=tuple(read.notes),
        )

    @property
    def csv(self) -> str:
        """Return the query string of the CSV download."""
        return "?" + urlencode({**self.pairs(), "format": "csv"}, doseq=True)
