"""What each call cost, and what it adds to its loop and session. A call is billed once, when it ends."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from recorder.core.content import messages
from recorder.core.content.text import clean
from recorder.core.context import EventContext
from recorder.core.events import AgentEnd, TurnEnd, Usage
from recorder.core.formats.registry import Convention
from recorder.core.money import prices, token_counts, usage
from recorder.core.money.prices import MAX_NANO, PriceKey
from recorder.core.money.segments import segment
from recorder.core.money.usage import UNKNOWN_PROVIDERS
from recorder.core.records import (
    Change,
    CostSource,
    Group,
    Json,
    Loop,
    ModelConfig,
    SegmentChanged,
    Spend,
    Turn,
)

NAME = 512  # characters of a model's or provider's name


class _Call(NamedTuple):
    """One call to a model, as its runtime tells it."""

    used: Usage
    counted: Convention | None
    pair: PriceKey | None
    at: datetime
    said: int | None = None  # nano-dollars


def turn_ended(context: EventContext, turn: Turn, event: TurnEnd) -> None:
    """Bill a turn; its config is known by now."""
    loop = turn.loop
    turn.config = loop.config
    counted = usage.convention(loop.config, turn.provider, loop.session.source)
    pair = price_key_of(turn.model, turn.provider, loop.config)
    _bill(
        context,
        turn,
        _Call(event.usage, counted, pair, event.timestamp, prices.parse_reported_cost(event.cost)),
    )
    _add(loop, turn)
    _add(loop.session, turn)
    context.add_billed_call(turn)


def is_unbilled(loop: Loop) -> bool:
    """Say whether no turn of a loop has told what it used."""
    return loop.cost_source in ("none", "computed") and not usage.has_tokens(token_counts.usage_of(loop))


def loop_ended(context: EventContext, loop: Loop, event: AgentEnd) -> None:
    """Bill a loop whose turns said nothing as one call."""
    if not usage.has_tokens(event.usage):
        return
    loop.is_one_call = True
    counted = usage.convention(loop.config, source=loop.session.source)
    _bill(context, loop, _Call(event.usage, counted, price_key_of("", "", loop.config), event.timestamp))
    _add(loop.session, loop)


def group_ended(context: EventContext, group: Group, add_billed_call: Usage, at: datetime) -> None:
    """Bill what choosing cost, unless the judge's own loop says it; whose price it has is not known."""
    if group.judge is None:
        _bill(context, group, _Call(add_billed_call, None, None, at))


def price_key_of(model: str, provider: str, config: ModelConfig | None) -> PriceKey | None:
    """Return by what a call is priced: who answered if that is known, else the config."""
    if model and provider not in UNKNOWN_PROVIDERS:
        return clean(model, NAME), clean(provider, NAME)
    if config is None or not config.model or config.provider in UNKNOWN_PROVIDERS:
        return None
    return config.model, config.provider


def price_key_of_snapshot(snapshot: Json) -> PriceKey | None:
    """Return the pair that a config will have."""
    given = snapshot if isinstance(snapshot, dict) else {}
    return price_key_of(messages.text_field(given, "model"), messages.text_field(given, "provider"), None)


def update_segments(changes: dict[Change, Change]) -> None:
    """Note of the loops that changed which count in another segment of the ledger from now on."""
    for loop in [record for record in changes if type(record) is Loop]:
        now = segment(
            role=loop.role,
            status=loop.status,
            continuation_kind=loop.continuation_kind,
            is_selected=loop.is_selected,
        )
        if now != loop.segment:
            change = SegmentChanged(loop, loop.segment)
            changes[change] = change
            loop.segment = now


def reprice(call: Turn | Loop, event: int, rows: Sequence[prices.Price]) -> bool:
    """Price a call that has ended by rows that hold now; say whether that changed anything."""
    if call.cost_source == "reported" or call.unreconciled or call.ended_at is None:
        return False
    parts = _buckets_of(call)
    price = prices.price_at(rows, event, call.ended_at)
    was = call.cost_nano, call.price
    if price is None:
        call.cost_nano, call.price, call.cost_source = None, None, "none"
    else:
        call.cost_nano, call.price, call.cost_source = prices.cost(parts, price), price.id, "computed"
    call.unpriced = int(price is None and bool(parts.prompt or parts.visible or parts.reasoning))
    return was != (call.cost_nano, call.price)


def _buckets_of(call: Turn | Loop) -> usage.Buckets:
    return usage.Buckets(
        call.uncached_tokens or 0,
        call.cache_read_tokens,
        call.cache_write_tokens,
        call.visible_tokens or 0,
        call.reasoning_tokens,
        call.cache_write_1h_tokens,
    )


def merge_cost_sources(known: CostSource, more: CostSource) -> CostSource:
    """Return where a sum comes from."""
    if more == "none" or known == more:
        return known
    return more if known == "none" else "mixed"


def _bill(context: EventContext, record: Turn | Loop | Group, call: _Call) -> None:
    parts = usage.buckets(call.used, call.counted)
    record.uncached_tokens = None if parts is None else parts.uncached
    record.visible_tokens = None if parts is None else parts.visible
    record.unreconciled = int(parts is None)
    rows = () if call.pair is None else context.state.prices.get(call.pair, ())
    price = prices.price_at(rows, context.id, call.at)
    if call.said is not None:
        record.cost_nano, record.cost_source = call.said, "reported"
    elif parts is not None and price is not None:
        record.cost_nano, record.cost_source = prices.cost(parts, price), "computed"
        if not isinstance(record, Group):
            record.price = price.id
    else:
        record.unpriced = int(usage.has_tokens(call.used))


def _add(record: Spend, call: Spend) -> None:
    record.uncached_tokens = _sum(record.uncached_tokens, call.uncached_tokens)
    record.visible_tokens = _sum(record.visible_tokens, call.visible_tokens)
    record.unreconciled += call.unreconciled
    record.unpriced += call.unpriced
    if call.cost_nano is not None:
        record.cost_nano = _sum(record.cost_nano, call.cost_nano)
        record.cost_source = merge_cost_sources(record.cost_source, call.cost_source)


def _sum(known: int | None, more: int | None) -> int:
    total = (known or 0) + (more or 0)
    return total if total < MAX_NANO else MAX_NANO
