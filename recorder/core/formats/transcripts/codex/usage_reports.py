"""The reports of usage in Codex's rollouts: of one call, as the sum of all calls of the thread, or both."""

from __future__ import annotations

from typing import NamedTuple, cast

from recorder.core.formats.base import Fields, object_field
from recorder.core.records import Json

USAGE = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cached_input_tokens",
    "cache_write": "cache_write_input_tokens",
    "reasoning": "reasoning_output_tokens",
}
_TOTALS = ("input_tokens", "output_tokens", "total_tokens")  # of a sum of usage
_ALL = tuple(dict.fromkeys((*_TOTALS, *USAGE.values())))


class Report(NamedTuple):
    """The usage of one call; `is_next` if the sum of all calls grew by just that."""

    usage: Fields
    is_next: bool


class UsageReports:
    """Reads the reports of one rollout, of which each may come again."""

    def __init__(self, stored: Fields) -> None:
        self._total = cast("list[Json]", stored.get("total") or [])  # the last sum, by `_TOTALS`
        self._sums = object_field(stored, "sums") or dict(zip(_TOTALS, self._total, strict=False))

    def dump(self) -> Fields:
        return {"total": self._total, "sums": self._sums}

    def note(self, payload: Fields) -> None:
        """Take the sum of a report whose call is counted elsewhere, in the origin of a fork."""
        self._take(_sums_of(payload))

    def read(self, payload: Fields, *, has_answer: bool, has_base: bool) -> Report | None:
        """Return the usage that a report adds; None if it adds none.

        A first sum counts as the usage of the answer before it, unless the thread goes on from the sum of
        another one (`has_base`); without an answer it is one to go on from.
        """
        usage, sums, before = _usage_of(payload), _sums_of(payload), self._sums
        total = [sums.get(name) for name in _TOTALS]
        if not (usage or sums) or (any(total) and total == self._total):
            return None
        if not usage:
            is_known = bool(before) or (has_answer and not has_base)
            usage = _difference(sums, before) if is_known else {}
        is_next = _is_sum(total, self._total, usage)
        self._take(sums)
        return Report(usage, is_next) if usage else None

    def _take(self, sums: Fields) -> None:
        if sums:
            self._total = [sums.get(name) for name in _TOTALS]
            self._sums = {name: sums[name] for name in _ALL if name in sums}


def _usage_of(payload: Fields) -> Fields:
    return object_field(payload, "usage") or object_field(object_field(payload, "info"), "last_token_usage")


def _sums_of(payload: Fields) -> Fields:
    of_count = object_field(object_field(payload, "info"), "total_token_usage")
    return object_field(payload, "thread_token_usage") or of_count


def _difference(sums: Fields, before: Fields) -> Fields:
    """Return what a sum grew by; one that became less began again. {} if it is the same."""
    counts = {name: value for name in _ALL if isinstance(value := sums.get(name), int)}
    grown = {name: value - _count(before.get(name)) for name, value in counts.items()}
    found = counts if any(value < 0 for value in grown.values()) else grown
    return cast("Fields", found) if any(found.values()) else {}


def _count(value: Json) -> int:
    return value if isinstance(value, int) else 0


def _is_sum(total: list[Json], before: list[Json], last: Fields) -> bool:
    """Return whether a sum of usage is the one before it and one call's; the first sum has none before it."""
    before = before or [0, 0, 0]
    pairs = zip(_TOTALS, total, before, strict=True)
    return total != before and all(
        isinstance(now, int) and isinstance(then, int) and now - then == last.get(name)
        for name, now, then in pairs
    )
