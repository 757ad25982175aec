"""The models that may be chosen: those that answered calls of the scope, and common ones of the list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from recorder.core.ledger.what_if import Call, Choice
from recorder.core.money.prices import Price, PriceBook, PriceKey
from recorder.pricing import price_list

MODELS_MAX = 5
USED_MAX = 10  # offered of those that the scope used
COMMON: tuple[PriceKey, ...] = (
    ("claude-haiku-4-5", "anthropic"),
    ("claude-sonnet-4-6", "anthropic"),
    ("claude-opus-4-8", "anthropic"),
    ("gpt-5-mini", "openai"),
    ("gpt-5.4", "openai"),
    ("gemini-2.5-flash", "google"),
    ("gemini-3.1-pro-preview", "google"),
    ("deepseek-chat", "deepseek"),
)


def name_of(key: PriceKey) -> str:
    """Return the name of a model in addresses: PROVIDER:MODEL; the provider may be empty."""
    return f"{key[1]}:{key[0]}"


def key_of(name: str) -> PriceKey:
    """Return the model that an address names; without a colon the provider is empty."""
    provider, colon, model = name.partition(":")
    return (model, provider) if colon else (name, "")


def offered(calls: Iterable[Call]) -> list[PriceKey]:
    """Return the models that are offered: used ones, the most expensive first, then the common ones."""
    spent: Counter[PriceKey] = Counter()
    for call in calls:
        spent[call.key] += call.cost_nano
    used = sorted(spent, key=lambda key: (-spent[key], key))[:USED_MAX]
    return list(dict.fromkeys([*used, *COMMON]))


def choice(key: PriceKey, book: PriceBook) -> Choice | None:
    """Return a model with its prices, of the project's price book, else of the list; None without a price."""
    chosen = Choice(key, book.get(key, ()))
    if any(row.bands and row.until_event is None for row in chosen.rows):
        return chosen
    rows = _list_prices(key)
    return Choice(key, rows) if rows else None


def _list_prices(key: PriceKey) -> Sequence[Price]:
    return [
        Price(
            id=0,
            model=key[0],
            provider=key[1],
            is_own=False,
            edition=price_list.edition(),
            valid_from=row.valid_from,
            daily=row.daily,
            bands=row.bands,
        )
        for row in price_list.listed(*key)
    ]
