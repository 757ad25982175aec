"""Schemas of tokens and costs in JSON documents."""

from typing import Literal

from pydantic import BaseModel

CostSource = Literal["reported", "computed", "mixed", "none"]
PriceSource = Literal["provider_stated", "provider_inferred"]


class Usage(BaseModel):
    """Tokens as reported by the runtime, in phi-core's names, summed; `input` may include the cache.

    `total_tokens` is null if the runtime sent none.
    """

    input: int
    output: int
    reasoning: int
    cache_read: int
    cache_write: int
    total_tokens: int | None


class Buckets(BaseModel):
    """The same tokens, each counted once; reasoning is not in output."""

    uncached_input: int
    cache_read: int
    cache_write: int
    output: int
    reasoning: int


class Money(BaseModel):
    """A cost; null, not 0, without a price. `unpriced` is true if a sum leaves out parts without a price."""

    cost_usd: str | None
    cost_source: CostSource
    unpriced: bool


class Metered(Money):
    """Usage and cost. `usage` is null when no call reported any.

    `buckets` are null when the usage of a call is unknown or cannot be reconciled.
    `price_source` is how prices of computed costs were found: `provider_stated`, by model and provider, or
    `provider_inferred`, for at least one call by its model alone; null if no cost was computed.
    """

    price_source: PriceSource | None
    usage: Usage | None
    buckets: Buckets | None


class WithSubAgents(Metered):
    inclusive_cost_usd: str | None
    inclusive_unpriced: bool
