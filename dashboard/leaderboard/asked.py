"""What the reader asked the leaderboard for: validated once, written back into links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

if TYPE_CHECKING:
    from django.http import QueryDict

WINDOWS = {"7d": timedelta(days=7), "30d": timedelta(days=30), "90d": timedelta(days=90), "all": None}
TASK_MAX, VALUES_MAX, VALUE_MAX = 200, 50, 512
SHOWN_MAX = 60


@dataclass(frozen=True, slots=True)
class Asked:
    """Conditions on the groups that count; `notes` say what of the address made no sense."""

    since: str = "all"
    task: str = ""  # words in what the session is about
    agent: tuple[str, ...] = ()
    judge: tuple[str, ...] = ()  # keys of configs
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, params: QueryDict) -> Asked:
        """Read a query string; what makes no sense becomes a note."""
        since, notes = params.get("since", "") or "all", []
        if since not in WINDOWS:
            shown = since.replace("\0", "�")[:SHOWN_MAX]
            notes.append(f"Ignored since “{shown}”: there is no such time range.")
            since = "all"
        return cls(
            since=since,
            task=params.get("task", "").replace("\0", " ").strip()[:TASK_MAX].strip(),
            agent=_values(params, "agent"),
            judge=_values(params, "judge"),
            notes=tuple(notes),
        )

    def start(self, now: datetime) -> datetime | None:
        """Return since when groups count."""
        window = WINDOWS[self.since]
        return None if window is None else now - window

    @property
    def is_narrow(self) -> bool:
        return self != Asked()

    @property
    def windows(self) -> list[tuple[str, str, bool]]:
        """Return the time ranges: name, link, whether chosen."""
        return [(name, self.but(since=name).query, name == self.since) for name in WINDOWS]

    def but(self, **changes: Any) -> Asked:
        return replace(self, **changes)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Return the query string's names and values, without what is usual."""
        if self.since != "all":
            yield "since", self.since
        if self.task:
            yield "task", self.task
        for name in ("agent", "judge"):
            for value in getattr(self, name):
                yield name, value

    @property
    def query(self) -> str:
        """Return the link to exactly this page, relative to itself: "?…", never empty."""
        return "?" + urlencode(list(self.pairs()))

    @property
    def csv(self) -> str:
        """Return the link to the same as a file."""
        return "?" + urlencode([*self.pairs(), ("format", "csv")])


def _values(params: QueryDict, name: str) -> tuple[str, ...]:
    given = dict.fromkeys(value for value in params.getlist(name) if value and "\0" not in value)
    return tuple(value for value in given if len(value) <= VALUE_MAX)[:VALUES_MAX]
