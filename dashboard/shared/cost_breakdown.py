"""The computation of a cost: each bucket times its rate, and the price list. For `_shared/_cost.html`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from dashboard.shared.queries.costs import COST, NOTHING, SOURCES, Cost, usd
from dashboard.shared.session_json.usage import has_counts
from recorder.core.money.prices import Band, Rates, web_search_rate
from recorder.models import LoopRecord, Price, Spend, Turn
from recorder.pricing.price_book import bands_of

# Columns read of a call's price; `BROKEN_DOWN` adds those of the call and its config.
PRICE = ("model", "provider", "is_own", "edition", "bands", "created_at")
BROKEN_DOWN = (
    *COST, "cache_write_1h_tokens", *(f"price__{name}" for name in PRICE), "config__model", "config__provider"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class BucketCost:
    """One bucket: tokens or web searches, and dollars per million."""

    css: str
    name: str
    tokens: int
    rate: Decimal | None

    @property
    def nano(self) -> int | None:
        return None if self.rate is None else int(self.tokens * self.rate * 1_000)

    @property
    def dollars(self) -> str:
        """The rate as text, without trailing zeros."""
        return "" if self.rate is None else f"${self.rate.normalize() + 0:f}"


@dataclass(frozen=True, slots=True)
class Listed:
    """The price list of a price."""

    is_own: bool
    edition: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Breakdown:
    """One call's cost in lines, or what is known of a call without a price."""

    spent: Cost
    lines: tuple[BucketCost, ...]
    price: Listed | None
    model: str
    over: int  # prompt tokens above which these rates apply
    is_reconciled: bool
    is_reported: bool  # the sender reported its tokens

    @property
    def source(self) -> str:
        return SOURCES[self.spent.cost_source]

    @property
    def exact(self) -> str | None:
        return usd(self.spent.cost_nano)


def breakdown(call: Turn | LoopRecord) -> Breakdown:
    """Return how the cost of a turn, or of a loop billed as one call, was computed."""
    price = call.price
    band = _band(call, bands_of(price.bands) if price else ())
    return Breakdown(
        spent=NOTHING + call,
        lines=() if call.unreconciled else _lines(call, band.rates if band else None),
        price=Listed(price.is_own, price.edition, price.created_at) if price else None,
        model=_model(call, price),
        over=band.over if band else 0,
        is_reconciled=not call.unreconciled,
        is_reported=not call.unreconciled or has_counts(call),
    )


def _band(call: Spend, bands: Sequence[Band]) -> Band | None:
    prompt = (call.uncached_tokens or 0) + call.cache_read_tokens + call.cache_write_tokens
    return next((band for band in reversed(bands) if prompt > band.over or band.over == 0), None)


def _model(call: Turn | LoopRecord, price: Price | None) -> str:
    if price:
        where = f"at {price.provider}" if price.provider else "(provider inferred from the model)"
        return f"{price.model} {where}"
    named = (call.model, call.provider) if isinstance(call, Turn) else ("", "")
    if call.config and not all(named):
        named = call.config.model, call.config.provider
    return " at ".join(filter(None, named))


def _lines(call: Turn | LoopRecord, rates: Rates | None) -> tuple[BucketCost, ...]:
    hour = call.cache_write_1h_tokens
    parts = [
        ("usage-cache-read", "cache read", call.cache_read_tokens, "cache_read"),
        ("usage-input", "input", call.uncached_tokens or 0, "input"),
        ("usage-cache-write", "cache write", call.cache_write_tokens - hour, "cache_write"),
        ("usage-cache-write", "cache write, 1 hour", hour, "cache_write_1h"),
        ("usage-reasoning", "reasoning", call.reasoning_tokens, "reasoning"),
        ("usage-output", "output", call.visible_tokens or 0, "output"),
    ]
    lines = [
        BucketCost(css, name, tokens, getattr(rates, rate) if rates else None)
        for css, name, tokens, rate in parts
        if tokens
    ]
    searches = call.web_searches if isinstance(call, Turn) else 0
    if searches:
        rate = web_search_rate(call.price.provider) if rates and call.price else None
        lines.append(BucketCost("usage-output", "web searches", searches, rate))
    return tuple(lines)
