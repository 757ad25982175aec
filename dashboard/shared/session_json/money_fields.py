"""Tokens and money in what the read API answers."""

from typing import Literal

from ninja import Schema

CostSource = Literal["reported", "computed", "mixed", "none"]


class Usage(Schema):
    """Raw counts in phi-core's names, as the runtime said them, summed; `input` is with cache or without."""

    input: int
    output: int
    reasoning: int
    cache_read: int
    cache_write: int
    total_tokens: int


class Buckets(Schema):
    """The same tokens, each counted once; reasoning is not in output."""

    uncached_input: int
    cache_read: int
    cache_write: int
    output: int
    reasoning: int


class Money(Schema):
    """What has no price costs null, which is not 0; a sum that leaves some out says `unpriced`."""

    cost_usd: str | None
    cost_source: CostSource
    unpriced: bool


class Spent(Money):
    """`buckets` are null when the usage of a call in it cannot be told apart."""

    usage: Usage
    buckets: Buckets | None


class WithSubAgents(Spent):
    inclusive_cost_usd: str | None
    inclusive_unpriced: bool
