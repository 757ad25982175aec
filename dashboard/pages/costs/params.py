"""Query parameters of the costs page: validated once, written back into links."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from dashboard.web.query_params import Address, Choices, Reading

if TYPE_CHECKING:
    from django.http import QueryDict

    from dashboard.web.links import Value

HOUR, DAY, WEEK = timedelta(hours=1), timedelta(days=1), timedelta(days=7)
SINCE = {"24h": (24, HOUR), "7d": (7, DAY), "14d": (14, DAY), "30d": (30, DAY), "13w": (13, WEEK)}
BY = ("config", "model", "agent", "session")


@dataclass(frozen=True, slots=True)
class Period:
    """Whole hours, days or weeks in UTC: `count` bars of length `step`. The last bar is still running."""

    start: datetime
    step: timedelta
    count: int

    @property
    def end(self) -> datetime:
        return self.start + self.step * self.count

    @property
    def before(self) -> Period:
        """Return the period of the same length that ends where this one starts."""
        return replace(self, start=self.start - self.step * self.count)

    @property
    def starts(self) -> list[datetime]:
        return [self.start + self.step * n for n in range(self.count)]

    @property
    def is_hourly(self) -> bool:
        return self.step == HOUR

    @property
    def unit(self) -> str:
        return {HOUR: "hour", DAY: "day"}.get(self.step, "week")

    def bar_indexes(self) -> dict[str, int]:
        """Map each hour or day, as text ("2026-11-20 09" or "2026-11-20"), to the index of its bar."""
        step, form = (HOUR, "%Y-%m-%d %H") if self.is_hourly else (DAY, "%Y-%m-%d")
        times = (self.start + step * n for n in range((self.end - self.start) // step))
        return {f"{time:{form}}": (time - self.start) // self.step for time in times}


@dataclass(frozen=True, slots=True)
class Params(Address):
    """The page's query string. `notes` name the parameters that were invalid and ignored."""

    since: str = "14d"
    by: str = "config"
    agent: str = ""
    model: str = ""
    sub: bool = True  # include sub-agents
    judge: bool = True  # include judges
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, params: QueryDict) -> Params:
        """Parse a query string; an invalid parameter is ignored and becomes a note."""
        read = Reading(params)
        return cls(
            since=read.choice("since", SINCE, "14d"),
            by=read.choice("by", BY, "config"),
            agent=read.text("agent"),
            model=read.text("model"),
            sub=read.choice("sub", ("1", "0"), "1") == "1",
            judge=read.choice("judge", ("1", "0"), "1") == "1",
            notes=tuple(read.notes),
        )

    def period(self, now: datetime) -> Period:
        """Return the selected period; its last bar contains `now`."""
        count, step = SINCE[self.since]
        last = now.replace(minute=0, second=0, microsecond=0)
        if step == HOUR:
            return Period(last - step * (count - 1), step, count)
        return Period(last.replace(hour=0) + DAY - step * count, step, count)

    @property
    def windows(self) -> Choices:
        return self.choices("since", SINCE)

    @property
    def groupings(self) -> Choices:
        """Return the options of "Group by"."""
        return self.choices("by", BY)

    @property
    def switches(self) -> Choices:
        """Return the include switches: label, link, whether it is on."""
        return [
            ("Include sub-agents", self.but(sub=not self.sub).query, self.sub),
            ("Include judges", self.but(judge=not self.judge).query, self.judge),
        ]

    @property
    def hidden(self) -> dict[str, Value]:
        """Return the parameters that the filter form sends as hidden fields."""
        return self.but(agent="", model="").pairs()

    @property
    def is_narrow(self) -> bool:
        """Whether a filter is set."""
        return bool(self.agent or self.model or not self.sub or not self.judge)

    @property
    def cleared(self) -> str:
        """Return the link to the same period and grouping without filters."""
        return Params(since=self.since, by=self.by).query
