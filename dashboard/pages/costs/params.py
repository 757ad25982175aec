"""Query parameters of the costs page: validated once, written back into links."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from dashboard.query_conditions.box import parsed
from dashboard.query_language import print_query
from dashboard.query_language.choices import MenuKey, MenuKeys, chosen, replace_value
from dashboard.web import time_range
from dashboard.web.filters import FilterPage
from dashboard.web.lists.address import ListAddress, read_view
from dashboard.web.lists.heads import Head, heads
from dashboard.web.query_params import Choices, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.http import QueryDict

HOUR, DAY, WEEK = timedelta(hours=1), timedelta(days=1), timedelta(days=7)
SINCE = {"24h": (24, HOUR), "7d": (7, DAY), "14d": (14, DAY), "30d": (30, DAY), "90d": (90, DAY)}
USUAL = "7d"
BY = ("config", "model", "agent", "session")
HOURLY_MAX, DAILY_MAX, BARS_MAX = 48, 92, 60  # hours, days and bars of a custom period
MENUS = MenuKeys((MenuKey("agent", "agent"), MenuKey("model", "model")))
FILTERS = FilterPage(filters=(), windows=tuple(SINCE), keeps=("since", "until", "by", "sort"))
HEADINGS = {  # of the table, by what sorts them; the first is named after the grouping
    "name": "",
    "loops": "Loops",
    "turns": "Turns",
    "input": "Input",
    "output": "Output",
    "reasoning": "Reasoning",
    "read": "Cache read",
    "write": "Cache write",
    "mix": "Mix",
    "hits": "Hits",
    "cost": "Cost",
    "each": "Per loop",
    "p50": "p50",
    "p95": "p95",
    "failed": "Failed",
}
SORTS = tuple(sign + name for name in HEADINGS if name != "mix" for sign in ("-", ""))


@dataclass(frozen=True, slots=True)
class Period:
    """Whole hours in UTC, shown as `count` bars of length `step`: an hour, a day, or whole weeks.

    Without `stop` the last bar is whole, and may still be running. The bars of a custom period begin at
    midnight (`first`), the period within its first bar.
    """

    start: datetime
    step: timedelta
    count: int
    stop: datetime | None = None
    first: datetime | None = None

    @property
    def end(self) -> datetime:
        return self.stop or self.start + self.step * self.count

    @property
    def before(self) -> Period:
        """Return the period of the same length that ends where this one starts."""
        length = self.end - self.start
        return replace(self, start=self.start - length, stop=self.stop and self.start)

    @property
    def starts(self) -> list[datetime]:
        first = self.first or self.start
        return [first + self.step * n for n in range(self.count)]

    @property
    def has_whole_days(self) -> bool:
        """Return whether the period begins and ends at midnight."""
        return not (self.start.hour or self.end.hour)

    @property
    def is_hourly(self) -> bool:
        return self.step == HOUR

    @property
    def unit(self) -> str:
        weeks = self.step // WEEK
        return {HOUR: "hour", DAY: "day", WEEK: "week"}.get(self.step, f"{weeks} weeks")

    def bar_indexes(self) -> dict[str, int]:
        """Map each hour or day, as text ("2026-11-20 09" or "2026-11-20"), to the index of its bar."""
        step, form = (HOUR, "%Y-%m-%d %H") if self.is_hourly else (DAY, "%Y-%m-%d")
        first = self.first or self.start
        times = (first + step * n for n in range(-(-(self.end - first) // step)))
        return {f"{time:{form}}": (time - first) // self.step for time in times}


def custom_period(start: datetime, end: datetime) -> Period:
    """Return the period of the whole hours that `start` to `end` touches, with at most 92 bars."""
    start = start.replace(minute=0, second=0, microsecond=0)
    hour = end.replace(minute=0, second=0, microsecond=0)
    end = max(hour + HOUR if hour < end else hour, start + HOUR)
    if end - start <= HOUR * HOURLY_MAX:
        return Period(start, HOUR, (end - start) // HOUR, end)
    first = start.replace(hour=0)
    days = -(-(end - first) // DAY)
    step = DAY if days <= DAILY_MAX else WEEK * -(-days // (7 * BARS_MAX))
    return Period(start, step, -(-(end - first) // step), end, first)


@dataclass(frozen=True, slots=True)
class CostsParams(ListAddress):
    """The page's query string. `notes` name the parameters that were invalid and ignored."""

    since: str = USUAL
    until: str = ""
    q: str = ""  # the query; agents and models that menus choose are written into it
    by: str = "config"
    sort: str = "-cost"  # of the rows of the table; unknown values are last
    sub: bool = True  # include sub-agents
    judge: bool = True  # include judges
    notes: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, params: QueryDict, reader: int | None = None) -> CostsParams:
        """Parse a query string; an invalid parameter is ignored and becomes a note."""
        read = Reading(params)
        text = MENUS.text(read, params)
        since, until = time_range.read_range(read, SINCE, USUAL)
        _, saved = read_view(read)
        return cls(
            saved=saved,
            since=since,
            until=until,
            by=read.choice("by", BY, "config"),
            sort=read.choice("sort", SORTS, "-cost"),
            q=text,
            reader=parsed(text).reader(reader),
            sub=read.choice("sub", ("1", "0"), "1") == "1",
            judge=read.choice("judge", ("1", "0"), "1") == "1",
            notes=tuple(read.notes),
        )

    def period(self, now: datetime) -> Period:
        """Return the selected period; the last bar of the last hours, days or weeks contains `now`."""
        if self.since not in SINCE:
            within = time_range.time_range(self, now)
            start = within.start or now
            return custom_period(start, min(within.end or now, max(now, start)))
        count, step = SINCE[self.since]
        last = now.replace(minute=0, second=0, microsecond=0)
        if step == HOUR:
            return Period(last - step * (count - 1), step, count)
        return Period(last.replace(hour=0) + DAY - step * count, step, count)

    @property
    def chosen(self) -> Mapping[str, tuple[str, ...]]:
        """Return the values of each key that menus have chosen."""
        return chosen(parsed(self.q).node)

    def only(self, key: str, value: str) -> str:
        """Return the link to the page with `key:value` in the query, in place of other values of the key."""
        return self.but(q=print_query(replace_value(parsed(self.q).node, key, value))).query

    @property
    def left_out(self) -> list[str]:
        """Return the segments that are switched off."""
        switches = (("sub_agents", self.sub), ("judge", self.judge))
        return [name for name, is_included in switches if not is_included]

    @property
    def words(self) -> str:
        """Return the period in words: "last 7 days", "yesterday"."""
        return time_range.words(self.since)

    @property
    def within(self) -> str:
        """Return the period as it follows a noun: "in the last 7 days", "yesterday"."""
        return time_range.within(self.since, self.words)

    @property
    def heads(self) -> list[Head]:
        """Return the heads of the table."""
        return heads(self, HEADINGS | {"name": self.by.capitalize()}, ("mix",), ("name",))

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
    def is_narrow(self) -> bool:
        """Whether a filter is set."""
        return bool(self.q or self.left_out)

    @property
    def cleared(self) -> str:
        """Return the link to the same period and grouping without filters."""
        return FILTERS.cleared(self)
