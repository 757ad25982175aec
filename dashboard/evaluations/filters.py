"""What the reader asked the list of evaluations for: validated once, written back into links."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from dashboard.numbers import whole_number

if TYPE_CHECKING:
    from django.http import QueryDict

WINDOWS = {
    "24h": timedelta(hours=24),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
    "90d": timedelta(days=90),
    "all": None,
}
CONFIGS_MAX = 2
VERDICTS = {
    "judged": "Judged",
    "rule": "By a rule",
    "fallback": "Fallback",
    "none": "Not decided",
}


@dataclass(frozen=True, slots=True)
class Filters:
    """The list's query string. Configs are told by their keys."""

    config: tuple[str, ...] = ()  # all of them took part
    winner: str = ""
    verdict: str = ""
    since: str = "all"
    session: int | None = None
    before: int | None = None  # the page after this evaluation, newest first
    after: int | None = None  # the page that ends before this evaluation

    @classmethod
    def parse(cls, params: QueryDict) -> Filters:
        """Read a query string; what makes no sense is as if it were not there."""
        since, verdict = params.get("since", ""), params.get("verdict", "")
        return cls(
            config=tuple(filter(None, map(_key, params.getlist("config"))))[:CONFIGS_MAX],
            winner=_key(params.get("winner", "")),
            verdict=verdict if verdict in VERDICTS else "",
            since=since if since in WINDOWS else "all",
            session=whole_number(params.get("session", "")),
            before=whole_number(params.get("before", "")),
            after=whole_number(params.get("after", "")),
        )

    @property
    def is_narrow(self) -> bool:
        return self.on_first_page() != Filters()

    @property
    def windows(self) -> list[tuple[str, str, bool]]:
        """Return the time ranges: name, link, whether chosen."""
        return [(name, self.but(since=name), name == self.since) for name in WINDOWS]

    @property
    def without_session(self) -> str:
        return self.but(session=None)

    def start(self, now: datetime) -> datetime | None:
        """Return when the chosen time range begins."""
        window = WINDOWS[self.since]
        return now - window if window else None

    def on_first_page(self) -> Filters:
        return replace(self, before=None, after=None)

    def but(self, **change: object) -> str:
        """Return the link to the same list but for this, on its first page: "?…", never empty."""
        other = replace(self.on_first_page(), **change)  # type: ignore[arg-type]  # the fields of this class
        return "?" + urlencode(other.pairs(), doseq=True)

    def pairs(self) -> dict[str, str | int | tuple[str, ...]]:
        """Return the query string's names and values, without what is usual."""
        said = {
            name: getattr(self, name)
            for name in ("config", "winner", "verdict", "session", "before", "after")
        }
        if self.since != "all":
            said["since"] = self.since
        return {name: value for name, value in said.items() if value}


def _key(text: str) -> str:
    return text if text.isascii() and text.isalnum() and len(text) <= 64 else ""
