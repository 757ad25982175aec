"""What the reader asked the list of compactions for: validated once, written back into links."""

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
NAME_MAX = 512


@dataclass(frozen=True, slots=True)
class Filters:
    """The list's query string. A config is told by its key."""

    config: str = ""
    agent: str = ""
    since: str = "all"
    session: int | None = None
    before: int | None = None  # the page after this pass, newest first
    after: int | None = None  # the page that ends before this pass

    @classmethod
    def parse(cls, params: QueryDict) -> Filters:
        """Read a query string; what makes no sense is as if it were not there."""
        since, config = params.get("since", ""), params.get("config", "")
        return cls(
            config=config if config.isascii() and config.isalnum() and len(config) <= 64 else "",
            agent=params.get("agent", "").replace("\0", "")[:NAME_MAX],
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
        return "?" + urlencode(other.pairs())

    def pairs(self) -> dict[str, str | int]:
        """Return the query string's names and values, without what is usual."""
        said = {name: getattr(self, name) for name in ("config", "agent", "session", "before", "after")}
        if self.since != "all":
            said["since"] = self.since
        return {name: value for name, value in said.items() if value}
