"""Usage totals and the rates derived from them. Pure; a rate is None where it is undefined."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class UsageTotals:
    """Usage of a part of the project: tokens in five disjoint buckets, cost in nano-dollars."""

    loops: int = 0
    turns: int = 0
    uncached_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    visible_tokens: int = 0
    reasoning_tokens: int = 0
    cost_nano: int | None = None  # None: no call has a price
    unpriced: int = 0  # calls with tokens and no price
    unreconciled: int = 0  # calls whose token counts do not add up to their buckets
    failed: int = 0  # loops

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.visible_tokens + self.reasoning_tokens

    @property
    def is_nothing(self) -> bool:
        return not self.cost_nano and not any(getattr(self, name) for name in _COUNTS)

    @property
    def is_unpriced(self) -> bool:
        """Whether there are calls and none has a price."""
        return self.cost_nano is None and self.unpriced > 0

    @property
    def prompt_tokens(self) -> int:
        return self.uncached_tokens + self.cache_read_tokens + self.cache_write_tokens

    @property
    def input_tokens(self) -> int:
        """Input without cache, under the name that the usage bar reads."""
        return self.uncached_tokens

    @property
    def output_tokens(self) -> int:
        """Output including reasoning, as runtimes report it; the usage bar subtracts reasoning."""
        return self.visible_tokens + self.reasoning_tokens

    @property
    def hit_rate(self) -> float | None:
        """Share of prompt tokens that were read from a cache."""
        return self.cache_read_tokens / self.prompt_tokens if self.cache_read_tokens else None

    @property
    def per_loop(self) -> int | None:
        return round(self.cost_nano / self.loops) if self.cost_nano is not None and self.loops else None

    @property
    def error_rate(self) -> float | None:
        return self.failed / self.loops if self.loops else None

    def __neg__(self) -> UsageTotals:
        counts = {name: -getattr(self, name) for name in _COUNTS}
        return UsageTotals(**counts, cost_nano=None if self.cost_nano is None else -self.cost_nano)


_COUNTS = tuple(item.name for item in fields(UsageTotals) if item.name != "cost_nano")


def total(sums: Iterable[UsageTotals]) -> UsageTotals:
    """Add up totals; unpriced parts add nothing to the cost and are counted in `unpriced`."""
    parts = list(sums)
    counts = {name: sum(getattr(part, name) for part in parts) for name in _COUNTS}
    nanos = [part.cost_nano for part in parts if part.cost_nano is not None]
    return UsageTotals(**counts, cost_nano=sum(nanos) if nanos else None)


def change(now: int | None, before: int | None) -> float | None:
    """Return the relative change; None when `before` is zero or unknown."""
    return now / before - 1 if now is not None and before else None


def share(part: int | None, whole: int | None) -> float | None:
    return part / whole if part is not None and whole else None
