"""Values of conditions: numbers, amounts, durations and times. Pure: callers pass the present time."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

NUMBER = re.compile(r"(-?\d{1,15}(?:\.\d{1,6})?)([kKmM]?)", re.ASCII)
AMOUNT = re.compile(r"\$?(\d{1,9}(?:\.\d{1,9})?)", re.ASCII)
DURATION = re.compile(r"(\d{1,7}(?:\.\d{1,3})?)(ms|s|m|h|d|w)", re.ASCII)
CLOCK = r"\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:[Zz]|[+-]\d{2}:\d{2})?"
DAY_ONLY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
DATE = re.compile(rf"\d{{4}}-\d{{2}}-\d{{2}}(?:[Tt ]{CLOCK})?", re.ASCII)
LARGE = {"": 1, "k": 1_000, "m": 1_000_000}
MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}
NANO = 9  # decimal places of an amount in nano-dollars
YEARS = timedelta(days=36_500)  # no duration reaches the first or last year of a calendar


def number(text: str) -> Decimal | None:
    """Parse a number such as 800, 12.5k or 1M; None if it is none."""
    found = NUMBER.fullmatch(text)
    return Decimal(found[1]) * LARGE[found[2].lower()] if found else None


def amount(text: str) -> int | None:
    """Parse dollars, such as 1.50 or $1.50, as nano-dollars; None if it is none."""
    found = AMOUNT.fullmatch(text)
    return int(Decimal(found[1]).scaleb(NANO)) if found else None


def duration(text: str) -> timedelta | None:
    """Parse a duration such as 400ms, 90s, 1.5h or 7d; None if it is none."""
    found = DURATION.fullmatch(text)
    if not found:
        return None
    return min(timedelta(milliseconds=float(Decimal(found[1]) * MS[found[2]])), YEARS)


def time(text: str, now: datetime) -> datetime | None:
    """Parse a date, an RFC 3339 time, or a duration before `now`; None for any other text.

    Without a zone a time is UTC.
    """
    if (before := duration(text)) is not None:
        return now - before
    if not DATE.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(text.upper())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def is_time(text: str) -> bool | None:
    """Return True for the text of a time, None for any other."""
    return True if time(text, datetime(2000, 1, 1, tzinfo=UTC)) else None


def boolean(text: str) -> bool | None:
    """Parse true, false, yes or no; None if it is none."""
    return BOOLEANS.get(text.lower())
