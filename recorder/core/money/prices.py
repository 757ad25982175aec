"""What tokens cost: rates by model, provider, date and size of the request; buckets times rates, exactly.

Rows are never changed once they stand, so what was priced stays priced until somebody reprices it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import cached_property
from operator import mul

from recorder.core.money.usage import Buckets

PriceKey = tuple[str, str]  # model and provider, as they stand on the wire
MAX_NANO = 2**61  # a column holds 63 bits; sums of hostile counts stay below
_EXACT = Context(prec=80, rounding=ROUND_HALF_EVEN)


@dataclass(frozen=True)
class Rates:
    """Dollars a million tokens. `cache_write` is for five minutes."""

    input: Decimal
    cache_read: Decimal
    cache_write: Decimal
    cache_write_1h: Decimal
    output: Decimal
    reasoning: Decimal

    @cached_property
    def scaled_integers(self) -> tuple[tuple[int, ...], int]:
        """Return nano-dollars a token, times ten to a power to be whole numbers, and that power: 0 mostly."""
        held = (self.input, self.cache_read, self.cache_write, self.cache_write_1h, self.output)
        rates = [rate.scaleb(3, _EXACT).normalize(_EXACT) for rate in (*held, self.reasoning)]
        power = max(0, *(-int(rate.as_tuple().exponent) for rate in rates))
        return tuple(int(rate.scaleb(power, _EXACT)) for rate in rates), power


@dataclass(frozen=True, slots=True)
class Band:
    """Rates of requests with more than `over` prompt tokens; they hold for all tokens of the call.

    The first of a price is over 0.
    """

    over: int
    rates: Rates


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs at a provider, by a list or by the project itself. Without bands: no price is known.

    It holds for calls of `valid_from` on, within `daily` ("16:30-00:30") if that is set, recorded after the
    journal's line `after_event` and not after `until_event`.
    """

    id: int
    model: str
    provider: str
    is_own: bool  # the project's, which goes before any list
    edition: str  # of the list
    valid_from: datetime | None = None
    daily: str = ""
    after_event: int = 0
    until_event: int | None = None
    bands: tuple[Band, ...] = ()

    def was_listed(self, event: int) -> bool:
        """Say whether the row was there when an event was recorded."""
        return self.after_event < event and (self.until_event is None or event <= self.until_event)

    def applies_at(self, at: datetime) -> bool:
        """Say whether it is for calls at that time."""
        if self.valid_from is not None and at < self.valid_from:
            return False
        return not self.daily or _within(self.daily, at.astimezone(UTC).strftime("%H:%M"))

    def rates(self, prompt: int) -> Rates:
        """Return the rates of a request of that size."""
        for band in reversed(self.bands):
            if prompt > band.over:
                return band.rates
        return self.bands[0].rates


PriceBook = Mapping[PriceKey, Sequence[Price]]  # each pair's rows, oldest first


def price_at(rows: Sequence[Price], event: int, at: datetime) -> Price | None:
    """Return the row that prices a call: the project's own, else the newest list's; None if unknown."""
    standing = [row for row in rows if row.was_listed(event)]
    own = [row for row in standing if row.is_own and row.applies_at(at)]
    if own:
        return max(own, key=lambda row: (row.valid_from is not None, row.valid_from or at, row.id))
    found = None
    for row in reversed(standing):
        if not row.is_own and (found is None or row.edition == found.edition):
            found = row
            if row.applies_at(at):
                break
    return found if found is not None and found.bands else None


def cost(tokens: Buckets, price: Price) -> int:
    """Return nano-dollars, rounded half to even once a call."""
    rates, power = price.rates(tokens.prompt).scaled_integers
    counts = (
        tokens.uncached,
        tokens.cache_read,
        tokens.cache_write - tokens.cache_write_1h,
        tokens.cache_write_1h,
        tokens.visible,
        tokens.reasoning,
    )
    nano: int = sum(map(mul, counts, rates))
    if power:
        nano = round(nano, -power) // 10**power
    return min(nano, MAX_NANO)


def parse_reported_cost(said: object) -> int | None:
    """Read what a runtime says that a call cost, in dollars; None if it says nothing that can be right."""
    if said is None or isinstance(said, bool) or not isinstance(said, int | float | str):
        return None
    try:
        dollars = Decimal(repr(said) if isinstance(said, float) else said)
    except ArithmeticError:
        return None
    if not dollars.is_finite() or dollars < 0 or dollars.adjusted() > 18:
        return None
    return _nano(_EXACT.multiply(dollars, Decimal(10**9)))


def _nano(exact: Decimal) -> int:
    return min(int(exact.to_integral_value(context=_EXACT)), MAX_NANO)


def _within(daily: str, clock: str) -> bool:
    begins, ends = daily.split("-")
    return begins <= clock < ends if begins <= ends else clock >= begins or clock < ends
