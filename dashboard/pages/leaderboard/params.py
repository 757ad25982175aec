"""What the reader asked the leaderboard for: validated once, written back into links."""

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
    """Conditions on the groups that count; `notes` say what of the address made no sense."""

    since: str = "all"
    task: str = ""  # words in what the session is about
    agent: tuple[str, ...] = ()
    judge: tuple[str, ...] = ()  # keys of configs
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, params: QueryDict) -> Params:
        """Read a query string; what makes no sense becomes a note."""
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
        """Return the link to the same as a file."""
        return "?" + urlencode({**self.pairs(), "format": "csv"}, doseq=True)
