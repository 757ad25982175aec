"""Models whose calls have no price: they are listed, and never count as $0."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from dashboard.pages.costs.figures import Piece, by_key
from dashboard.pages.costs.queries.prices import book, is_priced
from dashboard.pages.costs.totals import Sum, total
from recorder.core.money.prices import PriceKey
from recorder.core.money.usage import UNKNOWN_PROVIDERS as UNKNOWN
from recorder.models import ModelConfig

SHOWN = 20
NOBODY: PriceKey = ("", "")


@dataclass(frozen=True, slots=True)
class Model:
    """A model with calls that have no price; `has_price` is one that was set since."""

    name: str
    provider: str
    calls: int
    tokens: int | None  # None: others of its calls have a price
    has_price: bool

    @property
    def can_have_price(self) -> bool:
        """Whether it is known well enough to be looked up in a price list."""
        return bool(self.name and self.provider)


@dataclass(frozen=True, slots=True)
class Unpriced:
    """What the totals leave out."""

    models: tuple[Model, ...]
    more: int
    unreconciled: int


def unpriced(project: int, pieces: Collection[Piece], now: datetime) -> Unpriced:
    """Return what of the pieces has no price. Two queries, or none."""
    sums = by_key(pieces, lambda piece: piece.config)
    missing = {config: each for config, each in sums.items() if each.unpriced}
    models = _models(project, missing, now) if missing else []
    return Unpriced(
        tuple(models[:SHOWN]), max(0, len(models) - SHOWN), sum(each.unreconciled for each in sums.values())
    )


def _models(project: int, missing: Mapping[int | None, Sum], now: datetime) -> list[Model]:
    configs = ModelConfig.objects.in_bulk([pk for pk in missing if pk is not None])
    prices = book(project)
    by_pair: dict[PriceKey, list[Sum]] = defaultdict(list)
    for pk, each in missing.items():
        config = None if pk is None else configs.get(pk)
        by_pair[_pair(config)].append(each)
    models = [
        _model(pair, total(sums), has_price=is_priced(prices.get(pair, ()), now))
        for pair, sums in by_pair.items()
    ]
    return sorted((model for model in models if model is not None), key=lambda model: -model.calls)


def _pair(config: ModelConfig | None) -> PriceKey:
    if config is None:
        return NOBODY
    return config.model, "" if config.provider in UNKNOWN else config.provider


def _model(pair: PriceKey, spent: Sum, *, has_price: bool) -> Model | None:
    if has_price and spent.unpriced <= spent.unreconciled:
        return None  # it has a price; what is missing is which tokens to multiply it with
    tokens = spent.tokens if spent.cost_nano is None else None
    return Model(*pair, spent.unpriced, tokens, has_price)
