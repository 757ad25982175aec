"""Query parameters of the page Context and cache: validated once, written back into links."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from dashboard.pages.context.words import LABELS
from dashboard.shared.ledger_sums.queries.sums import Scope
from dashboard.web import time_range
from dashboard.web.filters import Filter, FilterPage
from dashboard.web.query_params import Address, Reading

if TYPE_CHECKING:
    from django.http import QueryDict

SINCE = {"7d": 7, "14d": 14, "30d": 30}  # days with the current one; a sum is never of less than a day
USUAL = "7d"
DAYS_MAX = 366  # of a custom range, its newest
NARROW = ("agent", "version", "model")
FILTERS = FilterPage(
    filters=(*(Filter(name, name) for name in NARROW), Filter("cause", "cause", LABELS, is_single=True)),
    windows=tuple(SINCE),
    keeps=("since", "until"),
)


@dataclass(frozen=True, slots=True)
class ContextPageParams(Address):
    """The page's query string. `notes` name the parameters that were invalid and ignored."""

    since: str = USUAL
    until: str = ""
    agent: tuple[str, ...] = ()
    version: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    cause: str = ""  # of the sessions that lost most
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, params: QueryDict) -> ContextPageParams:
        """Parse a query string; an invalid parameter is ignored and becomes a note."""
        read = Reading(params)
        since, until = time_range.read_range(read, SINCE, USUAL)
        narrow = {name: read.values(name) for name in NARROW}
        cause = read.choice("cause", LABELS, "")
        return cls(since=since, until=until, **narrow, cause=cause, notes=tuple(read.notes))

    def days(self, now: datetime) -> tuple[date, date]:
        """Return the first and the last day, in UTC: whole days, at most DAYS_MAX."""
        today = now.astimezone(UTC).date()
        if self.since in SINCE:
            return today - timedelta(days=SINCE[self.since] - 1), today
        within = time_range.time_range(self, now)
        start = (within.start or now).date()
        end = (within.end - timedelta(microseconds=1)).date() if within.end else today
        last = max(start, min(end, today))
        return max(start, last - timedelta(days=DAYS_MAX - 1)), last

    def scope(self, project: int, now: datetime) -> Scope:
        """Return which calls of a project count."""
        first, last = self.days(now)
        return Scope(project, first, last, self.agent, self.version, self.model)

    @property
    def words(self) -> str:
        """Return the period in words: "last 7 days"."""
        return time_range.words(self.since)

    @property
    def within(self) -> str:
        """Return the period as it follows a noun: "in the last 7 days", "yesterday"."""
        return time_range.within(self.since, self.words)

    @property
    def is_narrow(self) -> bool:
        """Return whether agents, versions or models narrow the page."""
        return bool(self.agent or self.version or self.model)

    @property
    def cleared(self) -> str:
        """Return the link to the same period without filters."""
        return FILTERS.cleared(self)
