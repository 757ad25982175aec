"""Pay-back of a compaction, by the formulas of docs/reference/pages/compactions.md. Pure; None is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from math import ceil
from typing import NamedTuple

from recorder.core.money.prices import Band, Rates

NANO = Decimal(1_000)  # a dollar a million tokens is a thousand nano-dollars a token


class Call(NamedTuple):
    """One call of a model: how large its request was, None if nobody knows, and what its tokens cost.

    A list of passes reads tens of thousands: a tuple is made in a third of the time of a dataclass.
    """

    turn: int
    loop: int
    ordinal: int
    start_event: int | None
    request: int | None  # the line that says what it was sent
    end_event: int | None
    uncached: int | None
    cache_read: int
    cache_write: int
    cache_write_1h: int
    state: str
    bands: Sequence[Band] = ()

    @property
    def event(self) -> int:
        """Return when the model was asked, in recorded order."""
        return self.request or self.end_event or self.start_event or 0

    @property
    def is_done(self) -> bool:
        return self.state == "done"

    @property
    def rates(self) -> Rates | None:
        """Return the rates that hold for a request of its size."""
        size = self.fresh + self.cache_read
        return next((band.rates for band in reversed(self.bands) if size > band.over or band.over == 0), None)

    @property
    def prompt(self) -> int | None:
        if self.uncached is None or not self.is_done:
            return None
        return self.fresh + self.cache_read or None  # no request is empty: of this one nothing was counted

    @property
    def fresh(self) -> int:
        """Return what was not read from a cache."""
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
        """Return what its request cost, without the answer."""
        fresh, rates = self.fresh_nano, self.rates
        return None if fresh is None or rates is None else fresh + self.cache_read * rates.cache_read * NANO


@dataclass(frozen=True, slots=True)
class Payback:
    """What became of a pass: `calls` came after it, until the next pass or up to now."""

    calls: int
    before: Call | None  # the last whose size is known: one that failed says none
    first: Call | None
    saved_each: int | None  # tokens that each of them was smaller by; below 0 it grew
    rate: Decimal | None  # nano-dollars a token, as the last call before paid them
    rebuilt: int | None  # tokens that the first call would have read from the cache
    rebuilt_nano: int | None
    pass_nano: int | None  # what the pass itself cost

    @property
    def saved(self) -> int | None:
        """Return the tokens saved in all. A context that grew did so by itself: nothing was saved."""
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
        """Return how many calls pay the pass back; None if that is not known, or never happens."""
        if self.cost_nano is None or self.rate is None or not self.saved_each or self.saved_each < 0:
            return None
        each = self.saved_each * self.rate
        return None if each <= 0 else ceil(self.cost_nano / each)

    @property
    def is_paid_back(self) -> bool:
        return self.after_calls is not None and self.after_calls <= self.calls


def payback(earlier: Sequence[Call], after: Sequence[Call], pass_nano: int | None) -> Payback:
    """Return what a pass between these calls brought; `after` ends where the next pass begins."""
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
        saved_each=_difference(before, first),
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
    """Return how much less of its prompt the first call read from the cache than the last before did."""
    if before is None or first is None or not before.prompt or first.prompt is None:
        return None
    usual = first.prompt * before.cache_read // before.prompt
    return max(0, usual - first.cache_read)


def _rebuilt_nano(rebuilt: int | None, first: Call | None) -> int | None:
    if rebuilt == 0:
        return 0
    fresh, rates = (first.fresh_nano, first.rates) if first else (None, None)
    if rebuilt is None or first is None or fresh is None or rates is None:
        return None
    dearer = fresh / first.fresh - rates.cache_read * NANO
    return _whole(rebuilt * max(dearer, Decimal(0)))


def _whole(nano: Decimal) -> int:
    return int(nano.to_integral_value(ROUND_HALF_EVEN))
