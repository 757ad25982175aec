"""The cost of each call, added to its loop and session.

A call is a turn; or a whole loop, if none of its turns reported usage; or the selection of a group's
winner, if no judge loop was recorded. It is billed once, when it ends: by the cost that the runtime
reports, else by the price that is valid for its model at that time.

Invariant: the buckets and the cost of a loop are the sums over its turns, those of a session over its
loops; a call whose buckets do not reconcile or are unknown, or that has no price, is counted in
`unreconciled` or `unpriced` instead. Cost: constant time a call, plus the rows of one price key. Amounts are
nano-dollars, at most `MAX_NANO`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from recorder.core.changes import Change, SegmentChanged
from recorder.core.content import messages
from recorder.core.content.text import clean
from recorder.core.context import EventContext
from recorder.core.event_time import happened_at
from recorder.core.events import AgentEnd, TurnEnd, Usage, UsageReported
from recorder.core.events.base import construct
from recorder.core.money import prices, token_counts, usage
from recorder.core.money.prices import MAX_NANO, PriceKey
from recorder.core.money.segments import segment
from recorder.core.money.usage import UNKNOWN_PROVIDERS
from recorder.core.records import Group, Json, Loop, ModelConfig, Turn
from recorder.core.sources import Convention
from recorder.core.spend import CostSource, Spend

_NO_USAGE = construct(Usage, input=0, output=0)
NAME_MAX = 512  # characters of a model's or provider's name


class _Call(NamedTuple):
    """One call to a model, as its runtime reports it."""

    tokens: Usage
    convention: Convention | None
    price_key: PriceKey | None
    at: datetime
    reported_nano: int | None = None
    is_known: bool = True  # its tokens were reported


def turn_ended(context: EventContext, turn: Turn, event: TurnEnd) -> None:
    """Bill a turn; its config must be set."""
    _bill_turn(context, turn, event, has_usage=event.has_usage)
    context.add_billed_call(turn)


def usage_reported(context: EventContext, turn: Turn, event: UsageReported) -> None:
    """Bill an open turn by the usage so far; it enters the rollups at its end. Its config must be set."""
    _bill_turn(context, turn, event, has_usage=True)


def unbill(turn: Turn) -> None:
    """Take back what was billed of a turn, from its loop and session too: its usage is reported anew."""
    is_billed = turn.cost_source != "none" or turn.unpriced or turn.unreconciled
    if not is_billed and not token_counts.has_tokens(turn):
        return
    token_counts.subtract_turn_usage(turn.loop, token_counts.usage_of(turn))
    for record in (turn.loop, turn.loop.session):
        _subtract_cost(record, turn)
    token_counts.set_counts(turn, _NO_USAGE)
    turn.uncached_tokens, turn.visible_tokens, turn.unreconciled = 0, 0, 0
    turn.cost_nano, turn.cost_source, turn.price, turn.unpriced = None, "none", None, 0


def _bill_turn(context: EventContext, turn: Turn, event: TurnEnd | UsageReported, *, has_usage: bool) -> None:
    loop = turn.loop
    convention = convention_of_turn(turn, loop.config)
    key = price_key_of(turn.model, turn.provider, turn.config)
    reported = prices.parse_reported_cost(event.cost)
    at = _at(context, event.timestamp)
    _bill(context, turn, _Call(event.usage, convention, key, at, reported, has_usage))
    _add_cost(loop, turn)
    _add_cost(loop.session, turn)


def convention_of_turn(turn: Turn, of_loop: ModelConfig | None) -> Convention | None:
    """Return how a turn counted cached tokens; `of_loop` is its loop's config, its own must be set.

    Another model of the loop's provider is called by the api of the loop's config, which is also the best
    hint for a provider that no list has.
    """
    source = turn.loop.session.source
    config, known = turn.config, of_loop.provider if of_loop is not None else ""
    if config is not None and config.provider in (known, *UNKNOWN_PROVIDERS) and not usage.api_of(config):
        config = of_loop
    own = usage.convention(config, turn.provider, source, turn.model)
    return own or usage.convention(of_loop, turn.provider, source, turn.model)


def is_unbilled(loop: Loop) -> bool:
    """Return whether no turn of a loop has reported usage or a cost."""
    return loop.cost_source in ("none", "computed") and not usage.has_tokens(token_counts.usage_of(loop))


def loop_ended(context: EventContext, loop: Loop, event: AgentEnd) -> None:
    """Bill the usage of a loop's end as one call; for a loop whose turns reported nothing."""
    if not usage.has_tokens(event.usage):
        return
    loop.is_one_call = True
    convention = usage.convention(loop.config, source=loop.session.source)
    key, at = price_key_of("", "", loop.config), _at(context, event.timestamp)
    _bill(context, loop, _Call(event.usage, convention, key, at))
    _add_cost(loop.session, loop)


def group_ended(context: EventContext, group: Group, evaluation_usage: Usage, at: datetime) -> None:
    """Bill the selection of a winner unless the judge's own loop is; its model and price are unknown."""
    if group.judge is None:
        _bill(context, group, _Call(evaluation_usage, None, None, _at(context, at)))


def price_key_of(model: str, provider: str, config: ModelConfig | None) -> PriceKey | None:
    """Return the key of a call's price: the model and provider that answered if known, else the config's.

    A model without a provider has the key (model, ""): the price list knows whether it has one price.
    """
    if model and provider not in UNKNOWN_PROVIDERS:
        return clean(model, NAME_MAX), clean(provider, NAME_MAX)
    if config is not None and config.model and config.provider not in UNKNOWN_PROVIDERS:
        return config.model, config.provider
    name = clean(model, NAME_MAX) or (config.model if config is not None else "")
    return (name, "") if name else None


def price_key_of_snapshot(snapshot: Json) -> PriceKey | None:
    """Return the price key of a config snapshot."""
    settings = snapshot if isinstance(snapshot, dict) else {}
    model, provider = messages.text_field(settings, "model"), messages.text_field(settings, "provider")
    return price_key_of(model, provider, None)


def update_segments(changes: dict[Change, Change]) -> None:
    """Set the ledger segment of each changed loop; add a SegmentChanged where it differs."""
    for loop in [record for record in changes if type(record) is Loop]:
        new_segment = segment(
            role=loop.role,
            status=loop.status,
            continuation_kind=loop.continuation_kind,
            is_selected=loop.is_selected,
        )
        if new_segment != loop.segment:
            change = SegmentChanged(loop, loop.segment)
            changes[change] = change
            loop.segment = new_segment


def _at(context: EventContext, at: datetime) -> datetime:
    """Return the time at which a call counts."""
    return happened_at(at, context.received_at)


def reprice(call: Turn | Loop, event: int, rows: Sequence[prices.Price]) -> bool:
    """Price a billed call by the rows of today's price list; return whether its cost or price changed.

    `event` is the journal id by which rows are selected. A reported cost never changes, nor does a call
    that does not reconcile.
    """
    if call.cost_source == "reported" or call.unreconciled or call.ended_at is None:
        return False
    parts = _buckets_of(call)
    price = prices.price_at(rows, event, call.ended_received_at or call.ended_at)
    before = call.cost_nano, call.price
    if price is None:
        call.cost_nano, call.price, call.cost_source = None, None, "none"
    else:
        call.cost_nano, call.price, call.cost_source = _cost_of(call, parts, price), price.id, "computed"
    call.unpriced = int(price is None and bool(parts.prompt or parts.visible or parts.reasoning))
    return before != (call.cost_nano, call.price)


def report(turn: Turn, nano: int | None, rows: Sequence[prices.Price]) -> None:
    """Set the reported cost of an ended turn; None: price it by `rows`, the price list of its model."""
    if nano is not None:
        turn.cost_nano, turn.cost_source, turn.price, turn.unpriced = nano, "reported", None, 0
        return
    turn.cost_nano, turn.cost_source, turn.price = None, "none", None
    turn.unpriced = int(bool(turn.unreconciled))
    reprice(turn, turn.end_event or 0, rows)


def rebill(turn: Turn, of_loop: ModelConfig | None, rows: Sequence[prices.Price]) -> bool:
    """Bill an ended turn whose config or agent was corrected; return whether anything changed."""
    tokens = token_counts.usage_of(turn)
    is_known = not turn.unreconciled or usage.has_tokens(tokens)
    parts = usage.buckets(tokens, convention_of_turn(turn, of_loop)) if is_known else None
    before = turn.uncached_tokens, turn.visible_tokens, turn.cost_nano, turn.price
    turn.uncached_tokens = None if parts is None else parts.uncached
    turn.visible_tokens = None if parts is None else parts.visible
    turn.unreconciled = int(parts is None)
    if parts is None and turn.cost_source != "reported":
        turn.cost_nano, turn.price, turn.cost_source = None, None, "none"
        turn.unpriced = 1
    reprice(turn, turn.end_event or 0, rows)
    return before != (turn.uncached_tokens, turn.visible_tokens, turn.cost_nano, turn.price)


def _cost_of(call: Turn | Loop, parts: usage.Buckets, price: prices.Price) -> int:
    return prices.cost(parts, price, call.web_searches if isinstance(call, Turn) else 0)


def _buckets_of(call: Turn | Loop) -> usage.Buckets:
    return usage.Buckets(
        call.uncached_tokens or 0,
        call.cache_read_tokens,
        call.cache_write_tokens,
        call.visible_tokens or 0,
        call.reasoning_tokens,
        call.cache_write_1h_tokens,
    )


def merge_cost_sources(first: CostSource, second: CostSource) -> CostSource:
    """Return the cost source of a sum of two costs."""
    if second == "none" or first == second:
        return first
    return second if first == "none" else "mixed"


def _bill(context: EventContext, record: Turn | Loop | Group, call: _Call) -> None:
    parts = usage.buckets(call.tokens, call.convention) if call.is_known else None
    record.uncached_tokens = None if parts is None else parts.uncached
    record.visible_tokens = None if parts is None else parts.visible
    record.unreconciled = int(parts is None)
    rows = () if call.price_key is None else context.state.prices.get(call.price_key, ())
    price = prices.price_at(rows, context.id, call.at)
    if call.reported_nano is not None:
        record.cost_nano, record.cost_source = call.reported_nano, "reported"
    elif parts is not None and price is not None:
        record.cost_nano = prices.cost(parts, price, call.tokens.web_searches)
        record.cost_source = "computed"
        if not isinstance(record, Group):
            record.price = price.id
    else:
        record.unpriced = int(not call.is_known or usage.has_tokens(call.tokens))


def _add_cost(record: Spend, call: Spend) -> None:
    record.uncached_tokens = _sum(record.uncached_tokens, call.uncached_tokens)
    record.visible_tokens = _sum(record.visible_tokens, call.visible_tokens)
    record.unreconciled += call.unreconciled
    record.unpriced += call.unpriced
    if call.cost_nano is not None:
        record.cost_source = _source_of_sum(record, call)
        record.cost_nano = _sum(record.cost_nano, call.cost_nano)


def _subtract_cost(record: Spend, call: Spend) -> None:
    record.uncached_tokens = max(0, (record.uncached_tokens or 0) - (call.uncached_tokens or 0))
    record.visible_tokens = max(0, (record.visible_tokens or 0) - (call.visible_tokens or 0))
    record.unreconciled -= call.unreconciled
    record.unpriced -= call.unpriced
    if call.cost_nano is not None and record.cost_nano is not None:
        record.cost_nano = max(0, record.cost_nano - call.cost_nano) or None
        record.cost_source = record.cost_source if record.cost_nano else "none"


def _source_of_sum(record: Spend, call: Spend) -> CostSource:
    """Return the source of a record's cost and a call's; a computed cost of 0 leaves a source as it is."""
    if call.cost_source == "computed" and not call.cost_nano and record.cost_source != "none":
        return record.cost_source
    if record.cost_source == "computed" and not record.cost_nano:
        return call.cost_source
    return merge_cost_sources(record.cost_source, call.cost_source)


def _sum(first: int | None, second: int | None) -> int:
    total = (first or 0) + (second or 0)
    return total if total < MAX_NANO else MAX_NANO
