"""The price list: what models cost, from the data files of the package `genai-prices`. Nothing is fetched.

Loading the list takes 20 MB of memory and 0.1 s, so it is loaded only when a project uses a new model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING

from recorder.core.content.model_names import listed_name
from recorder.core.money.prices import Band, Rates
from recorder.core.records import FAST, US

if TYPE_CHECKING:
    from genai_prices.types import ConditionalPrice, ModelInfo, ModelPrice, TieredPrices

PACKAGE = "genai-prices"
_FREE = ":free"  # ends the name of a model that costs nothing at OpenRouter (openrouter.ai, "Free Variant")
# Of Anthropic, released before Opus 4.6: they cost the same wherever they run.
_SAME_IN_US = re.compile(r"claude-(?:[123]|instant|[a-z]+-4(?:[-.@][0-5](?!\d)|[-.@]20\d{6}|@|$))")
_US_TIMES = Decimal("1.1")
_FAST_AT_6 = re.compile(r"opus-4[-.][67]")  # the later models cost twice as much in fast mode


@dataclass(frozen=True, slots=True)
class Listed:
    """One entry of the list: rates, first day, and hours of the day (`HH:MM-HH:MM`)."""

    bands: tuple[Band, ...]
    valid_from: datetime | None = None
    daily: str = ""


@cache
def edition() -> str:
    """Return the name and version of the list, without loading it."""
    return f"{PACKAGE} {version(PACKAGE)}"


def listed(model: str, provider: str) -> list[Listed]:
    """Return the entries of a model at a provider, oldest first; none if the list has none.

    Without a provider they are those of the model's only maker, else those that all providers agree on. The
    route in a name is left out. A model in fast mode costs a multiple (platform.claude.com, "Fast mode"), one
    that ran in the United States only a tenth more (support.claude.com, "Enable US-only inference").
    """
    name = listed_name(model.removesuffix(US).removesuffix(FAST), provider)
    if provider == "openrouter" and name.endswith(_FREE):
        return [Listed((Band(0, Rates(**dict.fromkeys((each.name for each in fields(Rates)), Decimal(0)))),))]
    found = _entries(_find(name, provider)) if provider else _unambiguous(name)
    times = Decimal(1)
    if model.removesuffix(US).endswith(FAST):
        times = Decimal(6 if _FAST_AT_6.search(name) else 2)
    if model.endswith(US) and not _SAME_IN_US.search(name):
        times *= _US_TIMES
    if times == 1:
        return found
    return [replace(each, bands=tuple(_times(band, times) for band in each.bands)) for each in found]


def _times(band: Band, times: Decimal) -> Band:
    rates = {each.name: getattr(band.rates, each.name) * times for each in fields(Rates)}
    return Band(band.over, Rates(**rates))


def _unambiguous(model: str) -> list[Listed]:
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415

    name = model.lower()
    makers, sellers = [], []
    for each in get_snapshot().providers:
        found = _entries(each.find_model(name))
        if found:
            sellers.append(found)
            if each.model_match is not None and each.model_match.is_match(name):
                makers.append(found)
    candidates = makers or sellers
    return candidates[0] if candidates and all(found == candidates[0] for found in candidates) else []


def _entries(found: ModelInfo | None) -> list[Listed]:
    if found is None:
        return []
    from genai_prices.types import ModelPrice  # noqa: PLC0415

    if isinstance(found.prices, ModelPrice):
        return [Listed(bands)] if (bands := _bands(found.prices)) else []
    return [entry for each in found.prices if (entry := _entry(each)) is not None]


def _find(model: str, provider: str) -> ModelInfo | None:
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415

    try:
        return get_snapshot().find_provider_model(model, None, provider, None)[1]
    except LookupError:
        return None


def _entry(price: ConditionalPrice) -> Listed | None:
    bands = _bands(price.prices)
    starts: date | None = getattr(price.constraint, "start_date", None)
    begins: time | None = getattr(price.constraint, "start_time", None)
    ends: time | None = getattr(price.constraint, "end_time", None)
    if not bands:
        return None
    return Listed(
        bands,
        valid_from=datetime.combine(starts, time(), UTC) if starts else None,
        daily=f"{_clock(begins)}-{_clock(ends)}" if begins and ends else "",
    )


def _clock(at: time) -> str:
    zoned = at if at.tzinfo else at.replace(tzinfo=UTC)
    return datetime.combine(date(2000, 1, 1), zoned).astimezone(UTC).strftime("%H:%M")


def _bands(prices: ModelPrice) -> tuple[Band, ...]:
    """Return the rates by request size; none if the list lacks a price for input or output."""
    if prices.input_mtok is None or prices.output_mtok is None:
        return ()
    names = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok", "cache_write_1h_mtok")
    starts = {tier.start for name in names for tier in getattr(getattr(prices, name), "tiers", ())}
    return tuple(Band(over, _rates(prices, over)) for over in sorted({0, *starts}))


def _rates(prices: ModelPrice, over: int) -> Rates:
    """Return the rates above a request size; a bucket without a rate costs as the bucket it belongs to."""
    input_ = _rate(prices.input_mtok, over) or Decimal(0)
    output = _rate(prices.output_mtok, over) or Decimal(0)
    write = _or(_rate(prices.cache_write_mtok, over), input_)
    return Rates(
        input=input_,
        cache_read=_or(_rate(prices.cache_read_mtok, over), input_),
        cache_write=_or(_rate(prices.cache_write_5m_mtok, over), write),
        cache_write_1h=_or(_rate(prices.cache_write_1h_mtok, over), write),
        output=output,
        reasoning=_or(_rate(prices.output_reasoning_mtok, over), output),
    )


def _rate(price: Decimal | TieredPrices | None, over: int) -> Decimal | None:
    if price is None or isinstance(price, Decimal):
        return price
    return next((tier.price for tier in reversed(price.tiers) if over >= tier.start), price.base)


def _or(rate: Decimal | None, otherwise: Decimal) -> Decimal:
    return otherwise if rate is None else rate
