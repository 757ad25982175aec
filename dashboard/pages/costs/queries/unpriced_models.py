"""Models whose calls have no price: they are listed and never count as $0."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from dashboard.pages.costs.figures import UsageRow, by_key
from dashboard.pages.costs.queries.prices import book, is_priced
from dashboard.pages.costs.totals import UsageTotals, total
from recorder.core.money.prices import PriceKey
from recorder.core.money.usage import UNKNOWN_PROVIDERS as UNKNOWN
from recorder.models import ModelConfig

SHOWN = 20
UNKNOWN_PAIR: PriceKey = ("", "")


@dataclass(frozen=True, slots=True)
class Model:
    """A model with unpriced calls; `has_price` when a price was set after those calls."""

    name: str
    provider: str
    calls: int
    tokens: int | None  # None: some of its calls have a price
    has_price: bool

    @property
    def can_have_price(self) -> bool:
        """Whether model and provider are known, so that a price can be set."""
        return bool(self.name and self.provider)


@dataclass(frozen=True, slots=True)
class Unpriced:
    """Unpriced calls, which the totals exclude."""

    models: tuple[Model, ...]
    more: int
    unreconciled: int


def unpriced(project: int, usage_rows: Collection[UsageRow], now: datetime) -> Unpriced:
    """Return the models without a price among the usage rows. Two queries, or none."""
    sums = by_key(usage_rows, lambda usage_row: usage_row.config)
    missing = {config: usage for config, usage in sums.items() if usage.unpriced}
    models = _models(project, missing, now) if missing else []
    return Unpriced(
        tuple(models[:SHOWN]), max(0, len(models) - SHOWN), sum(usage.unreconciled for usage in sums.values())
    )


def _models(project: int, missing: Mapping[int | None, UsageTotals], now: datetime) -> list[Model]:
    configs = ModelConfig.objects.in_bulk([pk for pk in missing if pk is not None])
    prices = book(project)
    by_pair: dict[PriceKey, list[UsageTotals]] = defaultdict(list)
    for pk, usage in missing.items():
        config = None if pk is None else configs.get(pk)
        by_pair[_pair(config)].append(usage)
    models = [
        _model(pair, total(sums), has_price=is_priced(prices.get(pair, ()), now))
        for pair, sums in by_pair.items()
    ]
    return sorted((model for model in models if model is not None), key=lambda model: -model.calls)


def _pair(config: ModelConfig | None) -> PriceKey:
    if config is None:
        return UNKNOWN_PAIR
    return config.model, "" if config.provider in UNKNOWN else config.provider


def _model(pair: PriceKey, usage: UsageTotals, *, has_price: bool) -> Model | None:
    if has_price and usage.unpriced <= usage.unreconciled:
        return None  # the model has a price; only the token buckets of its calls are unknown
    tokens = usage.tokens if usage.cost_nano is None else None
    return Model(*pair, usage.unpriced, tokens, has_price)
