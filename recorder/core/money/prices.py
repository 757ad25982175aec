"""Prices: rates by model, provider, date and request size. The cost of a call is exact: buckets times rates.

Rows of the price list are immutable: a new price is a new row that applies to lines recorded after it. So a
call keeps its price until a re-pricing selects rows anew. Rates are scaled to integers once a row; the sum
is rounded once a call, half to even.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import cached_property
from operator import mul

from recorder.core.money.usage import Buckets

PriceKey = tuple[str, str]  # model and provider, as on the wire
MAX_NANO = 2**61  # a column holds 63 bits; sums of hostile counts stay below
# Dollars per million. Anthropic charges $10 per 1,000 searches beside the tokens, whatever the model
# (platform.claude.com, "Web search tool", usage and pricing); a search that failed is not counted.
_WEB_SEARCHES = {"anthropic": Decimal(10_000)}
_EXACT = Context(prec=80, rounding=ROUND_HALF_EVEN)


@dataclass(frozen=True)
class Rates:
    """Dollars per million tokens. `cache_write` is the rate of a five-minute cache."""

    input: Decimal
    cache_read: Decimal
    cache_write: Decimal
    cache_write_1h: Decimal
    output: Decimal
    reasoning: Decimal

    @cached_property
    def scaled_integers(self) -> tuple[tuple[int, ...], int]:
        """Return the rates in nano-dollars per token as integers, scaled by a power of ten, and that power.

        The order is that of `cost`. The power is 0 unless a rate has more than three decimals.
        """
        rates_in_order = (self.input, self.cache_read, self.cache_write, self.cache_write_1h, self.output)
        rates = [rate.scaleb(3, _EXACT).normalize(_EXACT) for rate in (*rates_in_order, self.reasoning)]
        power = max(0, *(-int(rate.as_tuple().exponent) for rate in rates))
        return tuple(int(rate.scaleb(power, _EXACT)) for rate in rates), power


@dataclass(frozen=True, slots=True)
class Band:
    """Rates of requests with more than `over` prompt tokens. As providers bill, they apply to the whole call.

    The first band of a price has `over` 0.
    """

    over: int
    rates: Rates


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a model at a provider, of a price list or the project. Without bands it is unknown.

    It applies to calls from `valid_from` on, within the daily hours `daily` in UTC ("16:30-00:30"), whose
    lines have a journal id greater than `after_event` and at most `until_event`.
    """

    id: int
    model: str
    provider: str
    is_own: bool  # the project's own, which precedes any list
    edition: str  # of the list
    valid_from: datetime | None = None
    daily: str = ""
    after_event: int = 0
    until_event: int | None = None
    bands: tuple[Band, ...] = ()

    def was_listed(self, event: int) -> bool:
        """Return whether the row was in effect when the line with journal id `event` was recorded."""
        return self.after_event < event and (self.until_event is None or event <= self.until_event)

    def applies_at(self, at: datetime) -> bool:
        """Return whether the row applies to calls at a time."""
        if self.valid_from is not None and at < self.valid_from:
            return False
        return not self.daily or _is_within(self.daily, at.astimezone(UTC).strftime("%H:%M"))

    def rates(self, prompt: int) -> Rates:
        """Return the rates for a request of `prompt` tokens."""
        for band in reversed(self.bands):
            if prompt > band.over:
                return band.rates
        return self.bands[0].rates


PriceBook = Mapping[PriceKey, Sequence[Price]]  # the rows of each key, oldest first


def price_at(rows: Sequence[Price], event: int, at: datetime) -> Price | None:
    """Return the row that prices a call: the project's own, else one of the newest list; None if unknown."""
    listed = [row for row in rows if row.was_listed(event)]
    own = [row for row in listed if row.is_own and row.applies_at(at)]
    if own:
        return max(own, key=lambda row: (row.valid_from is not None, row.valid_from or at, row.id))
    found = None
    for row in reversed(listed):
        if not row.is_own and (found is None or row.edition == found.edition):
            found = row
            if row.applies_at(at):
                break
    return found if found is not None and found.bands else None


def cost(tokens: Buckets, price: Price, web_searches: int = 0) -> int:
    """Return the cost of a call in nano-dollars, rounded half to even, with the fees of its web searches."""
    fee = search_fee(price.provider, web_searches)
    return min(cost_at(tokens, price.rates(tokens.prompt)) + fee, MAX_NANO)


def search_fee(provider: str, web_searches: int) -> int:
    """Return the fee of web searches that a provider ran, in nano-dollars."""
    return int(web_search_rate(provider) * 1_000) * web_searches


def web_search_rate(provider: str) -> Decimal:
    """Return the fee of web searches in dollars per million; 0 for a provider whose fee is not known."""
    return _WEB_SEARCHES.get(provider.lower(), Decimal(0))


def cost_at(tokens: Buckets, rates: Rates) -> int:
    """Return what tokens cost at some rates in nano-dollars, rounded half to even."""
    nano, power = scaled_cost(tokens, rates)
    if power:
        nano = round(nano, -power) // 10**power
    return min(nano, MAX_NANO)


def scaled_cost(tokens: Buckets, rates: Rates) -> tuple[int, int]:
    """Return what tokens cost in nano-dollars, scaled by a power of ten to an integer, and that power."""
    scaled, power = rates.scaled_integers
    counts = (
        tokens.uncached,
        tokens.cache_read,
        tokens.cache_write - tokens.cache_write_1h,
        tokens.cache_write_1h,
        tokens.visible,
        tokens.reasoning,
    )
    return sum(map(mul, counts, scaled)), power


def parse_reported_cost(value: object) -> int | None:
    """Return a reported cost, dollars on the wire, in nano-dollars; None if it is no plausible amount."""
    if value is None or isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        dollars = Decimal(repr(value) if isinstance(value, float) else value)
    except ArithmeticError:
        return None
    if not dollars.is_finite() or dollars < 0 or dollars.adjusted() > 18:
        return None
    return _nano(_EXACT.multiply(dollars, Decimal(10**9)))


def _nano(exact: Decimal) -> int:
    return min(int(exact.to_integral_value(context=_EXACT)), MAX_NANO)


def _is_within(daily: str, clock: str) -> bool:
    begin, end = daily.split("-")
    return begin <= clock < end if begin <= end else clock >= begin or clock < end
