"""The sentence and the tiles above the film."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.pages.session.context.block_rows import usd
from dashboard.pages.session.context.queries import Reading
from dashboard.pages.session.context_filters import ALL_RESULTS
from dashboard.rendering.number_format import exact, money, percent, plural
from dashboard.shared.ledger.queries.session_ledger import BlockRow

RESULTS = {"tool_result": "tool result", "sub_agent_report": "sub-agent report"}


@dataclass(frozen=True, slots=True)
class Tile:
    """A total; `url` leads to the blocks that it adds up."""

    name: str
    value: str
    exact: str  # dollars to the nano-dollar, or ""
    about: str
    is_lost: bool = False
    url: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """`share` is the part of the cost that is context; "" without costs."""

    share: str
    scope: str  # session or loop
    dearest: BlockRow | None
    dearest_kind: str
    dearest_cost: str  # with its verb: "cost $0.912"
    dearest_turns: str
    dearest_since: int
    misses: str
    tiles: Sequence[Tile]


def summary(reading: Reading) -> Summary:
    """Return what a scope cost, in a sentence and in tiles."""
    ledger, has_costs = reading.ledger, reading.has_costs
    blocks = [block for block in ledger.blocks if block.kind in RESULTS] or list(ledger.blocks)
    dearest = max(blocks, key=lambda block: _weight(reading, block), default=None)
    cost = ledger.context_nano / ledger.cost_nano if has_costs and ledger.cost_nano else None
    missed = [call for call in ledger.misses if call.lost_tokens]
    tokens = plural(sum(call.lost_tokens for call in missed), "token")
    unpriced = sum(call.lost_nano is None for call in missed)
    is_unpriced = has_costs and len(missed) == unpriced > 0
    lost = tokens if is_unpriced or not has_costs else money(ledger.lost_nano, unpriced)
    return Summary(
        share=percent(cost) if cost is not None else "",
        scope="loop" if reading.params.scope else "session",
        dearest=dearest,
        dearest_kind=RESULTS.get(dearest.kind, "block") if dearest else "",
        dearest_cost=_cost_of(reading, dearest) if dearest else "",
        dearest_turns=plural(dearest.calls, "turn") if dearest else "",
        dearest_since=reading.numbered(dearest.first) if dearest else 0,
        misses=_misses(len(missed), lost, is_unpriced=is_unpriced),
        tiles=_tiles(reading, lost, is_unpriced=is_unpriced),
    )


def _misses(count: int, lost: str, *, is_unpriced: bool) -> str:
    words = plural(count, "cache miss,cache misses")
    return (
        f"{words} sent {lost} again, without a price"
        if is_unpriced
        else f"{words} cost {lost}"
        if count
        else ""
    )


def _weight(reading: Reading, block: BlockRow) -> tuple[int, int]:
    return block.carried_nano if reading.has_costs else 0, block.tokens * block.calls


def _cost_of(reading: Reading, block: BlockRow) -> str:
    if reading.has_costs:
        return f"cost {money(block.carried_nano)}"
    return f"carried {exact(block.tokens * block.calls)} tokens"


def _tiles(reading: Reading, lost: str, *, is_unpriced: bool) -> list[Tile]:
    """Return the tiles; `is_unpriced`: only calls without a price lost any, and `lost` is in tokens."""
    ledger = reading.ledger
    results = [block for block in ledger.blocks if block.kind in RESULTS]
    missed = sum(call.lost_tokens > 0 for call in ledger.misses)
    misses = f"{'no price, ' if is_unpriced else ''}{exact(missed)} of {plural(len(ledger.calls), 'turn')}"
    url = reading.url(kind=ALL_RESULTS, q="", call="") + "#ledger"
    if not reading.has_costs:
        return _tiles_of_tokens(
            reading, results, Tile("Lost to cache misses", lost, "", misses, url="#misses"), url
        )
    context, spent, output = ledger.context_nano, ledger.cost_nano, ledger.output_nano
    nano = sum(block.carried_nano for block in results)
    tokens = plural(sum(call.output_tokens for call in ledger.calls), "token")
    lost_usd = "" if is_unpriced else usd(ledger.lost_nano)
    is_lost, of_context = bool(ledger.lost_nano) or is_unpriced, f"{_share(nano, context)} of context"
    about = f"{_share(context, spent)} of {money(spent)}"
    return [
        Tile("Paid for context", money(context), usd(context), about, url="#ledger"),
        Tile("Paid for output", money(output), usd(output), tokens),
        Tile("Lost to cache misses", lost, lost_usd, misses, is_lost=is_lost, url="#misses"),
        Tile("Carried by tool results", money(nano), usd(nano), of_context, url=url),
    ]


def _tiles_of_tokens(reading: Reading, results: Sequence[BlockRow], lost: Tile, url: str) -> list[Tile]:
    carried, of_results = (
        sum(block.tokens * block.calls for block in blocks) for blocks in (reading.ledger.blocks, results)
    )
    output = sum(call.output_tokens for call in reading.ledger.calls)
    return [
        Tile("Context", exact(carried), "", "carried tokens", url="#ledger"),
        Tile("Output", exact(output), "", "tokens"),
        lost,
        Tile(
            "Tool results", exact(of_results), "", f"carried tokens, {_share(of_results, carried)}", url=url
        ),
    ]


def _share(part: int, whole: int) -> str:
    return percent(part / whole if whole else None)
