"""The cost of recorded calls under other conditions: another model's rates, or a one-hour cache.

Amounts are nano-dollars, as whole numbers. Each call is computed alone, so figures of several sessions are
the sums of theirs. `nano` is the arithmetic on the recorded tokens; `low` and `high` contain it and say how
far the tokenizer and the cache of another provider may move it. Cost: a few steps a call and figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from recorder.core.ledger.cache_rules import CacheRules, rules_of
from recorder.core.ledger.tokenizers import factor
from recorder.core.money.prices import MAX_NANO, Price, PriceKey, Rates, cost, cost_at, price_at, scaled_cost
from recorder.core.money.usage import Buckets

NEWEST = 2**62  # later than the journal id of any line
ASSUMED_LIFE_S = 300  # of a prefix, where a provider documents none
HOUR_S = 3600


class Miss(NamedTuple):
    """The ledger's entry on the cache of a call: the verdict, lost tokens, and seconds since the last."""

    verdict: str
    lost_tokens: int
    idle_s: float


@dataclass(frozen=True, slots=True)
class Call:
    """One billed call: the model that answered, its buckets, its recorded cost and its own rates if known."""

    key: PriceKey
    tokens: Buckets
    cost_nano: int
    at: datetime
    rates: Rates | None = None
    is_judge: bool = False
    miss: Miss | None = None  # None: the ledger does not have the call
    fee_nano: int = 0  # of its web searches, within `cost_nano`


@dataclass(frozen=True, slots=True)
class Choice:
    """Another model with its price rows, oldest first."""

    key: PriceKey
    rows: Sequence[Price]

    def price(self, at: datetime) -> Price | None:
        """Return the newest price for calls at a time, else the newest of any time; None if there is none."""
        found = price_at(self.rows, NEWEST, at)
        if found is not None and found.bands:
            return found
        return next((row for row in reversed(self.rows) if row.was_listed(NEWEST) and row.bands), None)


@dataclass(frozen=True, slots=True)
class Figure:
    """A sum over calls in nano-dollars: as recorded, and otherwise. `changed` counts calls that differ."""

    calls: int = 0
    changed: int = 0
    base_nano: int = 0
    nano: int = 0
    low_nano: int = 0
    high_nano: int = 0

    def plus(self, base: int, nano: int, bounds: Iterable[int], *, changed: bool) -> Figure:
        """Return the sum with one more call."""
        between = (nano, *bounds)
        return Figure(
            self.calls + 1,
            self.changed + changed,
            self.base_nano + base,
            self.nano + nano,
            self.low_nano + min(between),
            self.high_nano + max(between),
        )

    @property
    def difference_nano(self) -> int:
        return self.nano - self.base_nano

    @property
    def saved_nano(self) -> int:
        return self.base_nano - self.nano


def at_model(calls: Iterable[Call], choice: Choice) -> Figure:
    """Return the cost of calls at another model's rates.

    Calls that this model answered keep their recorded cost, and all others the fees of their web searches.
    The choice must have a price.
    """
    found = Figure()
    for call in calls:
        price = choice.price(call.at)
        if call.key == choice.key or price is None:
            found = found.plus(call.cost_nano, call.cost_nano, (), changed=False)
        else:
            nano = min(cost(call.tokens, price) + call.fee_nano, MAX_NANO)
            found = found.plus(call.cost_nano, nano, _bounds(call, choice.key, price), changed=True)
    return found


def one_hour_cache(calls: Iterable[Call]) -> Figure:
    """Return the cost of calls if each cache write had the one-hour rate and lived an hour.

    A miss after at most an hour, whose cause was that time, becomes a read. `high` is without that. Calls of
    providers without a longer life, or without rates, keep their cost.
    """
    found = Figure()
    for call in calls:
        tokens = call.tokens
        if call.rates is None or not rules_of(call.key[1], call.key[0]).long_life_s or not tokens.cache_write:
            found = found.plus(call.cost_nano, call.cost_nano, (), changed=False)
            continue
        dear = _in_proportion(call, _with_read(tokens, 0), call.rates)
        nano = _in_proportion(call, _with_read(tokens, _avoided(call)), call.rates)
        found = found.plus(call.cost_nano, nano, (dear,), changed=nano != call.cost_nano)
    return found


def without_judge(calls: Iterable[Call]) -> Figure:
    """Return the cost of calls without those of judges."""
    found = Figure()
    for call in calls:
        nano = 0 if call.is_judge else call.cost_nano
        found = found.plus(call.cost_nano, nano, (), changed=call.is_judge)
    return found


def avoided_misses(calls: Iterable[Call]) -> int:
    """Return how many calls missed the cache after more than its life and at most an hour."""
    return sum(_avoided(call) > 0 for call in calls)


def _avoided(call: Call) -> int:
    """Return the tokens that would have been read with a life of an hour."""
    miss = call.miss
    is_lapse = miss is not None and miss.verdict == "ttl_lapsed" and miss.idle_s <= HOUR_S
    return miss.lost_tokens if miss is not None and is_lapse else 0


def _with_read(tokens: Buckets, more: int) -> Buckets:
    """Return buckets of which `more` tokens were read, and all written ones for an hour.

    They are those behind what was read, so the written ones come first.
    """
    written = min(more, tokens.cache_write)
    plain = min(more - written, tokens.uncached)
    rest = tokens.cache_write - written
    return _buckets(tokens, tokens.uncached - plain, tokens.cache_read + written + plain, rest, rest)


def _in_proportion(call: Call, tokens: Buckets, rates: Rates) -> int:
    """Return what other tokens cost, with the fees: by the rates, or as the reported cost has them."""
    recorded, of_tokens = cost_at(call.tokens, rates), max(0, call.cost_nano - call.fee_nano)
    if recorded == of_tokens or not recorded:
        return min(cost_at(tokens, rates) + call.fee_nano, MAX_NANO)
    before, after = scaled_cost(call.tokens, rates)[0], scaled_cost(tokens, rates)[0]
    return min((2 * of_tokens * after + before) // (2 * before) + call.fee_nano, MAX_NANO)


def _bounds(call: Call, other: PriceKey, price: Price) -> list[int]:
    """Return the cost at the ends of both ranges: tokens by the tokenizer, buckets by the cache's rules."""
    least, most = factor(call.key, other)
    own, rules = rules_of(call.key[1], call.key[0]), rules_of(other[1], other[0])
    shapes = [call.tokens] if own == rules else [call.tokens, _by_rules(call, rules, least)]
    found = []
    for tokens in shapes:
        for thousandths, is_upper in ((least, False), (most, True)):
            nano = _scaled(tokens, price, thousandths, is_upper=is_upper)
            found.append(min(nano + call.fee_nano, MAX_NANO))
    return found


def _scaled(tokens: Buckets, price: Price, thousandths: int, *, is_upper: bool) -> int:
    """Return the cost of `thousandths` of some tokens: rounded up for an upper bound, else down."""
    total, power = scaled_cost(tokens, price.rates(tokens.prompt * thousandths // 1000))
    total = total * thousandths
    whole: int = 1000 * 10**power
    return min(-(-total // whole) if is_upper else total // whole, MAX_NANO)


def _by_rules(call: Call, rules: CacheRules, thousandths: int) -> Buckets:
    """Return the buckets as another provider's rules allow: least prefix, steps and life.

    What is not read is written where callers mark prefixes, else it is charged as input.
    """
    tokens = call.tokens
    if tokens.prompt * thousandths // 1000 < rules.least_tokens:
        return _plain(call)
    is_kept = call.miss is None or call.miss.idle_s <= (rules.life_s or ASSUMED_LIFE_S)
    step = rules.step or 1
    read = tokens.cache_read // step * step if is_kept else 0
    rest = tokens.cache_read - read + tokens.cache_write
    if rules.control == "automatic":
        plain = tokens.uncached + rest
        return _buckets(tokens, plain, read)
    return _buckets(tokens, tokens.uncached, read, rest, tokens.cache_write_1h)


def _plain(call: Call) -> Buckets:
    """Return the buckets without a cache: the whole prompt is input."""
    return _buckets(call.tokens, call.tokens.prompt)


def _buckets(tokens: Buckets, uncached: int, read: int = 0, write: int = 0, write_1h: int = 0) -> Buckets:
    """Return the same output with another prompt."""
    return Buckets(uncached, read, write, tokens.visible, tokens.reasoning, write_1h)
