"""Query parameters of the leaderboard: validated once, written back into links."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from dashboard.web.query_params import Address, Choices, Reading

if TYPE_CHECKING:
    from django.http import QueryDict

WINDOWS = ("7d", "30d", "90d", "all")


@dataclass(frozen=True, slots=True)
class Params(Address):
    """Filters on the groups; `notes` name the parameters that were invalid and ignored."""

    since: str = "all"
    task: str = ""  # words to find in the session
    agent: tuple[str, ...] = ()
    judge: tuple[str, ...] = ()  # keys of configs
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, params: QueryDict) -> Params:
        """Parse a query string; an invalid parameter is ignored and becomes a note."""
        read = Reading(params)
        return cls(
            since=read.choice("since", WINDOWS, "all"),
            task=read.words("task"),
            agent=read.values("agent"),
            judge=read.values("judge"),
            notes=tuple(read.notes),
        )

    @property
    def windows(self) -> Choices:
        return self.choices("since", WINDOWS)

    @property
    def csv(self) -> str:
        """Return the query string of the CSV download."""
        return "?" + urlencode({**self.pairs(), "format": "csv"}, doseq=True)
