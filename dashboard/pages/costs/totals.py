"""Sums of what was spent, and what people read off them. Pure: rates are None where they mean nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Sum:
    """What a part of the project spent: its tokens in five disjoint buckets, its cost in nano-dollars."""

    loops: int = 0
    turns: int = 0
    uncached_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    visible_tokens: int = 0
    reasoning_tokens: int = 0
    cost_nano: int | None = None  # None: nothing in it has a price
    unpriced: int = 0  # calls with tokens and no price
    unreconciled: int = 0  # calls whose buckets are not known
    failed: int = 0  # loops

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.visible_tokens + self.reasoning_tokens

    @property
    def is_nothing(self) -> bool:
        return not self.cost_nano and not any(getattr(self, name) for name in _COUNTS)

    @property
    def is_unpriced(self) -> bool:
        """Whether calls were made and none of them has a price."""
        return self.cost_nano is None and self.unpriced > 0

    @property
    def prompt_tokens(self) -> int:
        return self.uncached_tokens + self.cache_read_tokens + self.cache_write_tokens

    @property
    def input_tokens(self) -> int:
        """What the meter calls input; as `output_tokens`, for whoever draws usage."""
        return self.uncached_tokens

    @property
    def output_tokens(self) -> int:
        """Output with reasoning in it, as runtimes give it; the meter cuts it out again."""
        return self.visible_tokens + self.reasoning_tokens

    @property
    def hit_rate(self) -> float | None:
        """The share of what models read that came from a cache."""
        return self.cache_read_tokens / self.prompt_tokens if self.cache_read_tokens else None

    @property
    def per_loop(self) -> int | None:
        return round(self.cost_nano / self.loops) if self.cost_nano is not None and self.loops else None

    @property
    def error_rate(self) -> float | None:
        return self.failed / self.loops if self.loops else None

    def __neg__(self) -> Sum:
        counts = {name: -getattr(self, name) for name in _COUNTS}
        return Sum(**counts, cost_nano=None if self.cost_nano is None else -self.cost_nano)


_COUNTS = tuple(each.name for each in fields(Sum) if each.name != "cost_nano")


def total(sums: Iterable[Sum]) -> Sum:
    """Return the sum of sums; unpriced parts are left out and counted."""
    parts = list(sums)
    counts = {name: sum(getattr(part, name) for part in parts) for name in _COUNTS}
    nanos = [part.cost_nano for part in parts if part.cost_nano is not None]
    return Sum(**counts, cost_nano=sum(nanos) if nanos else None)


def change(now: int | None, before: int | None) -> float | None:
    """Return by which share something grew; None where there was nothing to grow from."""
    return now / before - 1 if now is not None and before else None


def share(part: int | None, whole: int | None) -> float | None:
    return part / whole if part is not None and whole else None
