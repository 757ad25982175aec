"""Search syntax of the list of sessions: `status:failed agent:"my coder" cost:>1`.

Unknown names, as in `http://host` or `foo:bar`, are words to search for.
"""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from dashboard.shared.session_filter import HOLDS, METADATA, OUTCOMES, SILENT
from dashboard.shared.session_state import OPEN

if TYPE_CHECKING:
    from django.http import QueryDict

TOKEN = re.compile(r'(?<!\S)(metadata\.[^\s:"]+|[a-z]+):(?:"([^"]*)"|(\S*))(?!\S)', re.ASCII)
VALUES = ("model", "config", "agent", "tool", "source", "has", "tag")  # may be repeated
LEAST = {"cost": ">1", "tokens": ">10k", "duration": ">5m"}  # numbers, with the expected format
STATUS_WORDS = (*OPEN, "waiting", "stale", *OUTCOMES)
HINTS = {
    "status": f"valid values are {', '.join(STATUS_WORDS)}",
    "has": f"valid values are {', '.join(HOLDS)}",
} | {name: f"write it as {name}:{how}" for name, how in LEAST.items()}

COST = re.compile(r"\d{1,9}(\.\d{1,9})?", re.ASCII)
TOKENS = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)([kM]?)", re.ASCII)
DURATION = re.compile(r"(\d{1,5}(?:\.\d{1,3})?)(ms|s|m|h|d)", re.ASCII)
LARGE = {"": 1, "k": 1_000, "M": 1_000_000}
MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def moved(params: QueryDict) -> tuple[QueryDict, list[tuple[str, str]]]:
    """Return the query string with each condition under its name, and the invalid names and values."""
    words: str = params.get("q", "")
    wrong: list[tuple[str, str]] = []
    if not TOKEN.search(words):
        return params, []
    spread = params.copy()
    for name, quoted, plain in TOKEN.findall(words):
        value = quoted or plain
        if name == "status":
            _status(spread, value, wrong)
        elif (name.startswith(METADATA) and value) or (
            name in VALUES and value and (name != "has" or value in HOLDS)
        ):
            spread.appendlist(name, value)
        elif name in LEAST and value.startswith(">"):
            spread[name] = value.lstrip(">").removeprefix("=")
        elif name in HINTS:
            wrong.append((name, value))
    spread["q"] = " ".join(TOKEN.sub(_left, words).split())
    return spread, wrong


def tokens(text: str) -> int | None:
    """Parse a number of tokens such as 800, 12.5k or 1M; None if invalid."""
    found = TOKENS.fullmatch(text)
    return int(Decimal(found[1]) * LARGE[found[2]]) if found else None


def duration(text: str) -> timedelta | None:
    """Parse a duration such as 400ms, 30s, 5m, 2h or 1d; None if invalid."""
    found = DURATION.fullmatch(text)
    return timedelta(milliseconds=float(Decimal(found[1]) * MS[found[2]])) if found else None


def _status(spread: QueryDict, value: str, wrong: list[tuple[str, str]]) -> None:
    if value == "waiting":
        spread["view"] = value
    elif value in STATUS_WORDS:
        spread.appendlist("status" if value in SILENT else "outcome", value)
    else:
        wrong.append(("status", value))


def _may_repeat(name: str) -> bool:
    return name in VALUES or name.startswith(METADATA)


def _left(found: re.Match[str]) -> str:
    has_value = _may_repeat(found[1]) and bool(found[2] or found[3])
    return " " if found[1] in HINTS or has_value else found[0]
