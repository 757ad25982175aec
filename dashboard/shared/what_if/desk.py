"""All figures of What if for a scope, each with what of it is exact, bounded and assumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from dashboard.rendering.number_format import plural
from dashboard.shared.what_if.models import MODELS_MAX, choice, name_of, offered
from dashboard.shared.what_if.queries.calls import CALLS_MAX, Calls, calls_of
from dashboard.shared.what_if.queries.definitions import Definition, definitions_of
from dashboard.shared.what_if.scope import Scope
from recorder.core.ledger.tokenizers import ACROSS_MAKERS, factor
from recorder.core.ledger.what_if import (
    Choice,
    Figure,
    at_model,
    avoided_misses,
    one_hour_cache,
    without_judge,
)
from recorder.core.money.prices import PriceKey
from recorder.pricing import price_book

Kind = Literal["model", "one_hour_cache", "without_definition", "without_server", "without_judge"]
Label = Literal["exact", "bounded", "assumed"]
State = Literal["computed", "nothing_recorded", "no_prices", "too_many_calls"]
DEFINITIONS_MAX = 200


class Reason(NamedTuple):
    """The certainty of a figure, exact, bounded or assumed, in one sentence."""

    label: Label
    sentence: str


@dataclass(frozen=True, slots=True)
class WhatIfRow:
    """One figure; `name` is that of the model, the tool or the server."""

    kind: Kind
    name: str
    figure: Figure
    reasons: Sequence[Reason]
    tokens: int | None = None  # of a definition, over all calls
    used: int | None = None  # how often a tool, or a server's tools, were called

    @property
    def has_range(self) -> bool:
        return self.figure.low_nano != self.figure.high_nano


@dataclass(frozen=True, slots=True)
class Desk:
    """The figures of a scope. `without_price` are models that were asked for and have none."""

    state: State
    calls: Calls
    lines: Sequence[WhatIfRow] = ()
    offered: Sequence[PriceKey] = ()
    without_price: Sequence[PriceKey] = ()
    has_ledger: bool = True
    more_definitions: int = 0
    calls_max: int = CALLS_MAX

    @property
    def models(self) -> list[WhatIfRow]:
        return [line for line in self.lines if line.kind == "model"]

    @property
    def policies(self) -> list[WhatIfRow]:
        return [line for line in self.lines if line.kind in ("one_hour_cache", "without_judge")]

    @property
    def definitions(self) -> list[WhatIfRow]:
        return [line for line in self.lines if line.kind in ("without_definition", "without_server")]

    @property
    def chosen(self) -> list[str]:
        return [line.name for line in self.models]


def desk(scope: Scope, models: Sequence[PriceKey] = ()) -> Desk:
    """Compute everything for a scope; without `models` at those that it used, and common ones."""
    book = price_book.all_prices(scope.project)
    calls = calls_of(scope, book)
    if calls.is_cut:
        return Desk("too_many_calls", calls)
    if not calls.found:
        unknown = calls.unpriced or calls.unreconciled
        return Desk("no_prices" if unknown else "nothing_recorded", calls)
    offers = offered(calls.found)
    found = [(key, choice(key, book)) for key in list(models)[:MODELS_MAX] or offers]
    choices = [each for _, each in found if each is not None][:MODELS_MAX]
    definitions = definitions_of(scope)
    of_tools = [_without_definition(each, definitions.cost_nano) for each in definitions.found]
    lines = [
        *(_at_model(calls, each) for each in choices),
        _one_hour(calls),
        _no_judge(calls),
        *of_tools[:DEFINITIONS_MAX],
    ]
    return Desk(
        "computed",
        calls,
        lines,
        offers,
        [key for key, each in found if each is None] if models else (),
        not definitions.is_empty,
        max(0, len(of_tools) - DEFINITIONS_MAX),
    )


def _at_model(calls: Calls, other: Choice) -> WhatIfRow:
    figure = at_model(calls.found, other)
    ranges = {factor(call.key, other.key) for call in calls.found}
    exact = "The recorded tokens in their buckets, at the rates of the price book or the price list now."
    if not figure.changed:
        return WhatIfRow("model", name_of(other.key), figure, [Reason("exact", "It answered every call.")])
    if ACROSS_MAKERS in ranges:
        bounds = (
            "Another tokenizer may count 0.8 to 1.35 times as many tokens (an assumption), "
            "and another provider's cache has another least prefix, steps and life."
        )
    else:
        bounds = "The same tokenizer is assumed; a cache with other rules widens the range."
    assumed = (
        "As many turns and web searches, with the fees that were recorded, and answers of the same length."
    )
    reasons = [Reason("exact", exact), Reason("bounded", bounds), Reason("assumed", assumed)]
    return WhatIfRow("model", name_of(other.key), figure, reasons)


def _one_hour(calls: Calls) -> WhatIfRow:
    figure, avoided = one_hour_cache(calls.found), avoided_misses(calls.found)
    changed = "becomes a read" if avoided == 1 else "become reads"
    misses = f"{plural(avoided, 'miss,misses')} after at most an hour {changed}"
    bounded = (
        f"Arithmetic on the recorded gaps: {misses}, and every "
        "cache write has the one-hour rate; what later calls would have read depends on it."
    )
    reasons = [Reason("bounded", bounded), Reason("assumed", "The same calls at the same times.")]
    return WhatIfRow("one_hour_cache", "", figure, reasons)


def _no_judge(calls: Calls) -> WhatIfRow:
    sentence = "The calls of judges are left out; all others keep their recorded cost."
    return WhatIfRow("without_judge", "", without_judge(calls.found), [Reason("exact", sentence)])


def _without_definition(tool: Definition, base: int) -> WhatIfRow:
    nano = base - tool.cost_nano
    figure = Figure(tool.calls, tool.calls, base, nano, nano, nano)
    exact = (
        "Its tokens in every call, at the rates of the buckets they fell into; blocks that were new together "
        "share their tokens by bytes."
    )
    assumed = "The agent would have worked the same: it was never called."
    if tool.used:
        assumed = "It was called: that the agent would have worked the same without it is not likely."
    kind: Kind = "without_definition" if tool.name else "without_server"
    reasons = [Reason("exact", exact), Reason("assumed", assumed)]
    return WhatIfRow(kind, tool.name or tool.server, figure, reasons, tool.tokens, tool.used)
