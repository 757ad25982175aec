"""Net savings of a compaction, by the formulas of docs/reference/pages/compactions.md.

Pure; None is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from math import ceil
from typing import NamedTuple

from recorder.core.money.prices import Band, Rates

NANO = Decimal(1_000)  # one dollar per million tokens is 1,000 nano-dollars per token


class Call(NamedTuple):
    """One model call: the size of its request, None if unknown, and the price of its tokens.

    A named tuple, because a list of compactions reads tens of thousands: it takes a third of the time of a
    dataclass.
    """

    turn: int
    loop: int
    ordinal: int
    start_event: int | None
    request: int | None  # the journal line of its request
    end_event: int | None
    uncached: int | None
    cache_read: int
    cache_write: int
    cache_write_1h: int
    state: str
    bands: Sequence[Band] = ()

    @property
    def event(self) -> int:
        """Return the position of its request in recorded order."""
        return self.request or self.end_event or self.start_event or 0

    @property
    def is_done(self) -> bool:
        return self.state == "done"

    @property
    def rates(self) -> Rates | None:
        """Return the rates for a request of its size."""
        size = self.fresh + self.cache_read
        return next((band.rates for band in reversed(self.bands) if size > band.over or band.over == 0), None)

    @property
    def prompt(self) -> int | None:
        if self.uncached is None or not self.is_done:
            return None
        return self.fresh + self.cache_read or None  # 0: no request is empty, so its tokens were not counted

    @property
    def fresh(self) -> int:
        """Return the tokens that were not read from a cache."""
        return (self.uncached or 0) + self.cache_write

    @property
    def fresh_nano(self) -> Decimal | None:
        rates = self.rates
        if rates is None or self.prompt is None:
            return None
        plain = (self.uncached or 0) * rates.input
        written = (self.cache_write - self.cache_write_1h) * rates.cache_write
        return (plain + written + self.cache_write_1h * rates.cache_write_1h) * NANO

    @property
    def input_nano(self) -> Decimal | None:
        """Return the cost of its input tokens, in nano-dollars."""
        fresh, rates = self.fresh_nano, self.rates
        return None if fresh is None or rates is None else fresh + self.cache_read * rates.cache_read * NANO


@dataclass(frozen=True, slots=True)
class Payback:
    """Savings and cost of a compaction over the `calls` until the next compaction or until now."""

    calls: int
    before: Call | None  # the last call before with a known size; failed calls have none
    first: Call | None
    saved_each: int | None  # tokens saved per call; negative when the context grew
    rate: Decimal | None  # nano-dollars per prompt token of the last call before
    rebuilt: int | None  # tokens that the first call would otherwise have read from the cache
    rebuilt_nano: int | None
    pass_nano: int | None  # cost of the compaction itself

    @property
    def saved(self) -> int | None:
        """Return the total of saved tokens; 0 when the context grew, which is not the compaction's doing."""
        return None if self.saved_each is None else max(0, self.saved_each) * self.calls

    @property
    def saved_nano(self) -> int | None:
        return None if self.saved is None or self.rate is None else _whole(self.saved * self.rate)

    @property
    def cost_nano(self) -> int | None:
        if self.rebuilt_nano is None or self.pass_nano is None:
            return None
        return self.rebuilt_nano + self.pass_nano

    @property
    def net_nano(self) -> int | None:
        if self.saved_nano is None or self.cost_nano is None:
            return None
        return self.saved_nano - self.cost_nano

    @property
    def after_calls(self) -> int | None:
        """Return after how many calls savings exceed the cost; None if unknown or never."""
        if self.cost_nano is None or self.rate is None or not self.saved_each or self.saved_each < 0:
            return None
        saved_per_call = self.saved_each * self.rate
        return None if saved_per_call <= 0 else ceil(self.cost_nano / saved_per_call)

    @property
    def is_paid_back(self) -> bool:
        return self.after_calls is not None and self.after_calls <= self.calls


def payback(
    earlier: Sequence[Call], after: Sequence[Call], pass_nano: int | None, *, has_effect: bool = True
) -> Payback:
    """Return the savings of a compaction between these calls; `after` ends at the next compaction.

    One that removed nothing saves nothing: a smaller context after it has other causes.
    """
    done = [call for call in after if call.prompt is not None]
    before, first = (
        next((call for call in reversed(earlier) if call.prompt is not None), None),
        next(iter(done), None),
    )
    rebuilt = _rebuilt(before, first)
    return Payback(
        calls=len(done),
        before=before,
        first=first,
        saved_each=_difference(before, first) if has_effect else 0,
        rate=_rate(before),
        rebuilt=rebuilt,
        rebuilt_nano=_rebuilt_nano(rebuilt, first),
        pass_nano=pass_nano,
    )


def _difference(before: Call | None, first: Call | None) -> int | None:
    if before is None or first is None or before.prompt is None or first.prompt is None:
        return None
    return before.prompt - first.prompt


def _rate(before: Call | None) -> Decimal | None:
    if before is None or before.input_nano is None or not before.prompt:
        return None
    return before.input_nano / before.prompt


def _rebuilt(before: Call | None, first: Call | None) -> int | None:
    """Return the tokens missing in the first call's cache reads, at the cache share of the call before."""
    if before is None or first is None or not before.prompt or first.prompt is None:
        return None
    expected = first.prompt * before.cache_read // before.prompt
    return max(0, expected - first.cache_read)


def _rebuilt_nano(rebuilt: int | None, first: Call | None) -> int | None:
    if rebuilt == 0:
        return 0
    fresh, rates = (first.fresh_nano, first.rates) if first else (None, None)
    if rebuilt is None or first is None or fresh is None or rates is None:
        return None
    extra_rate = fresh / first.fresh - rates.cache_read * NANO
    return _whole(rebuilt * max(extra_rate, Decimal(0)))


def _whole(nano: Decimal) -> int:
    return int(nano.to_integral_value(ROUND_HALF_EVEN))
