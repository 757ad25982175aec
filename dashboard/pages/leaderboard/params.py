"""Query parameters of the leaderboard: validated once, written back into links."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from dashboard.query_conditions.box import parsed
from dashboard.web.filters import Filter, FilterPage
from dashboard.web.lists.address import ListAddress, read_view
from dashboard.web.query_params import Reading
from dashboard.web.time_range import read_range

if TYPE_CHECKING:
    from django.http import QueryDict

WINDOWS = ("7d", "30d", "90d", "all")
FILTERS = FilterPage(
    filters=(Filter("task", "task"), Filter("agent", "agent"), Filter("judge", "judge")), windows=WINDOWS
)


@dataclass(frozen=True, slots=True)
class LeaderboardParams(ListAddress):
    """Filters on the groups; `notes` name the parameters that were invalid and ignored."""

    since: str = "all"
    until: str = ""
    q: str = ""  # a query on evaluations, beside the other filters
    task: str = ""  # of older addresses: words in title, prompt and agent of the session
    agent: tuple[str, ...] = ()
    judge: tuple[str, ...] = ()  # keys of configs
    outcome: str = ""  # name of the score whose mean is shown, "" for wins
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, params: QueryDict, reader: int | None = None) -> LeaderboardParams:
        """Parse a query string; an invalid parameter is ignored and becomes a note."""
        read = Reading(params)
        text = params.get("q", "").strip()
        since, until = read_range(read, WINDOWS, "all")
        _, saved = read_view(read)
        return cls(
            saved=saved,
            since=since,
            until=until,
            q=text,
            reader=parsed(text).reader(reader),
            task=read.words("task"),
            agent=read.values("agent"),
            judge=read.values("judge"),
            outcome=read.words("outcome"),
            notes=tuple(read.notes),
        )

    @property
    def csv(self) -> str:
        """Return the query string of the CSV download."""
        return "?" + urlencode({**self.pairs(), "format": "csv"}, doseq=True)
