"""Time range of a page: the last hours or days, a calendar day or week, or from one time to another.

Parameters: since and until. An address holds times in UTC, so that a shared link shows the same records in
every zone; a script shows them in the viewer's. Without a zone a time is UTC. A date alone as the end
includes that day.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from django.utils import timezone

if TYPE_CHECKING:
    from collections.abc import Collection

    from dashboard.web.query_params import Reading

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
WINDOWS = {
    "1h": HOUR,
    "24h": DAY,
    "7d": timedelta(days=7),
    "14d": timedelta(days=14),
    "30d": timedelta(days=30),
    "90d": timedelta(days=90),
    "all": None,
}
WINDOW_WORDS = {"1h": "hour", "24h": "24 hours"} | {f"{days}d": f"{days} days" for days in (7, 14, 30, 90)}
CALENDAR = {"today": "Today", "yesterday": "Yesterday", "week": "This week"}  # of every page; in UTC
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
AHEAD_MAX = timedelta(days=366)  # an end may be this far in the future
EXPECTED = "write a time as 2026-11-01T14:00Z, or a date"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?", re.ASCII)


class Ranged(Protocol):
    """An address with a time range: `since` is a name of a window or a time, `until` a time or ""."""

    @property
    def since(self) -> str: ...
    @property
    def until(self) -> str: ...


@dataclass(frozen=True, slots=True)
class TimeRange:
    """From `start` up to and without `end`; None has no bound."""

    start: datetime | None = None
    end: datetime | None = None

    def within(self, column: str) -> dict[str, datetime]:
        """Return the conditions that a column lies in the range."""
        bounds = {f"{column}__gte": self.start, f"{column}__lt": self.end}
        return {name: bound for name, bound in bounds.items() if bound is not None}


def read_range(read: Reading, known: Collection[str], usual: str) -> tuple[str, str]:
    """Return the parameters since and until; each invalid one is ignored with a note.

    `known` are the windows of the page, `usual` is its default. An end needs a start that is a time, or no
    start where the default is "all". Times are written back as `2026-11-01T14:00Z`.
    """
    since, until = read.text("since").strip(), read.text("until").strip()
    now = timezone.now()
    windows = {*known, *CALENDAR}
    if since and since not in windows:
        since = _checked_time(read, "since", since, now)
    is_custom = bool(since) and since not in windows
    if until and not is_custom and (since or usual) != "all":
        read.ignore("until", until, "it needs a start that is a time, too")
        until = ""
    if until:
        until = _checked_time(read, "until", until, now)
    if until and is_custom and _end(until) <= _moment(since):
        read.ignore("until", until, "the end must be after the start")
        until = ""
    return since or usual, until


def time_range(address: Ranged, now: datetime) -> TimeRange:
    """Return the range of a parsed address.

    A range of hours or days ends with the current one and begins on the hour or at midnight, UTC, as costs
    are summed: the same range has the same money on every page. It has no end, so that it stays current.
    """
    end = _end(address.until) if address.until else None
    if address.since in CALENDAR:
        return _calendar(address.since, now)
    if address.since not in WINDOWS:
        return TimeRange(_moment(address.since), end)
    window = WINDOWS[address.since]
    if window is None or window == HOUR:
        return TimeRange(now - window if window else None, end)
    hour = now.replace(minute=0, second=0, microsecond=0)
    return TimeRange(hour - window + HOUR if window == DAY else hour.replace(hour=0) - window + DAY, end)


def words(since: str) -> str:
    """Return a range in words: "last 7 days", "yesterday", "selected time range"."""
    if since in CALENDAR:
        return CALENDAR[since].lower()
    if since not in WINDOWS:
        return "selected time range"
    return f"last {WINDOW_WORDS.get(since, since)}"


def within(since: str, words: str) -> str:
    """Return the words of a range as they follow a noun: "in the last 7 days", "yesterday"."""
    return words if since in CALENDAR else f"in the {words}"


def written(moment: datetime) -> str:
    """Return a time as an address holds it, in UTC; seconds only where there are any."""
    text = moment.astimezone(UTC).replace(tzinfo=None)
    is_whole = not text.second and not text.microsecond
    return (text.isoformat(timespec="minutes") if is_whole else text.isoformat()) + "Z"


def _calendar(name: str, now: datetime) -> TimeRange:
    """Return the day or the week, from Monday; the current one has no end."""
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if name == "yesterday":
        return TimeRange(midnight - DAY, midnight)
    return TimeRange(midnight - midnight.weekday() * DAY if name == "week" else midnight)


def _checked_time(read: Reading, name: str, text: str, now: datetime) -> str:
    """Return a time or date in its written form; "" with a note if it is invalid or out of range."""
    try:
        moment = _end(text) if name == "until" else _moment(text)
    except (ValueError, OverflowError):
        read.ignore(name, text, EXPECTED)
        return ""
    if moment < EARLIEST:
        read.ignore(name, text, "it is before 1970")
    elif name == "since" and moment > now:
        read.ignore(name, text, "it is in the future")
    elif moment > now + AHEAD_MAX:
        read.ignore(name, text, "it is more than a year in the future")
    else:
        return text if _DATE.fullmatch(text) else written(moment)
    return ""


def _moment(text: str) -> datetime:
    """Parse a time or a date. Raises ValueError or OverflowError."""
    if _DATE.fullmatch(text):
        day = date.fromisoformat(text)
        return datetime(day.year, day.month, day.day, tzinfo=UTC)
    if not _TIME.fullmatch(text):
        raise ValueError("not a time")
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _end(text: str) -> datetime:
    """Parse an end; that of a date is the midnight after it. Raises ValueError or OverflowError."""
    return _moment(text) + (DAY if _DATE.fullmatch(text) else timedelta())
