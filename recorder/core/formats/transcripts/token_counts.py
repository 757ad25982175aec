"""Token counts of transcripts under our names."""

from __future__ import annotations

from recorder.core.formats.base import Fields
from recorder.core.records import Json

COUNTS = ("input", "output", "reasoning", "cache_read", "cache_write", "cache_write_1h")


def counts(found: Fields, names: dict[str, str], *, includes_cache: bool = False) -> dict[str, int]:
    """Return token counts under our names; `input` leaves cached tokens out."""
    counted = {ours: _count(found.get(theirs)) for ours, theirs in names.items()}
    if includes_cache:
        cached = counted.get("cache_read", 0) + counted.get("cache_write", 0)
        counted["input"] = max(0, counted.get("input", 0) - cached)
    return counted


def _count(value: Json) -> int:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
    return value if is_count else 0  # type: ignore[return-value]


def usage_event(found: dict[str, int]) -> dict[str, int]:
    """Return counts as the usage of an event, none of them larger than what it is a part of."""
    output = found.get("output", 0)
    known = {name: found.get(name, 0) for name in COUNTS}
    if searches := found.get("web_searches", 0):
        known["web_searches"] = searches
    return known | {
        "reasoning": min(known["reasoning"], output),
        "cache_write_1h": min(known["cache_write_1h"], known["cache_write"]),
    }
