"""Tokens and cost of calls, as records have them: a turn, and what its calls are added up in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CostSource = Literal["none", "computed", "reported", "mixed"]


@dataclass(slots=True, kw_only=True, eq=False)
class Tokens:
    """Token counts as reported, each at least 0. By provider, `input` includes cached tokens or not."""

    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    total_tokens: int = 0
    cache_write_1h_tokens: int = 0  # a part of cache_write_tokens


@dataclass(slots=True, kw_only=True, eq=False)
class Spend(Tokens):
    """The cost of calls in nano-dollars, and two token buckets beside cache read, cache write and reasoning.

    Buckets are summed over the calls that reconcile, costs over the calls that have a price; `unreconciled`
    and `unpriced` count the other calls.
    """

    uncached_tokens: int | None = 0  # None: a call that does not reconcile
    visible_tokens: int | None = 0
    unreconciled: int = 0
    cost_nano: int | None = None  # None: nothing in it has a price
    unpriced: int = 0
    cost_source: CostSource = "none"
