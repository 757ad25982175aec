"""The ledger of one session, as of an event or now: its calls, its blocks, and what they cost.

Costs are those that the turns have now. Invariant: the context and the output of the calls, and what could
not be divided, add up to their cost; the blocks add up to the context. Cost: seven queries, and work in
proportion to the calls and blocks.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from dashboard.shared.ledger.queries import records
from dashboard.shared.ledger.queries.records import BlockRecord, CallRecord, ChainRecords, TurnRecord
from recorder.core.ledger.costs import Costed, carried, lost, of_each, to_nano
from recorder.core.ledger.verdicts import NO_MISS
from recorder.core.ledger.window import numbers_of
from recorder.ledger import costs
from recorder.ledger.costs import Cost
from recorder.models import LedgerBlock, LedgerCall


class CallRow(NamedTuple):
    """One call. Tokens and nano-dollars; costs are None where the call has no price or is not divided."""

    chain: int
    number: int  # in the session, from 1, in the order in which calls ended
    turn: int
    loop: int
    ordinal: int  # of the turn in its loop, from 0
    agent_id: str
    model: str
    started_at: datetime
    is_recorded: bool
    is_contradictory: bool  # reported token counts contradict each other: no cost
    compacted: bool
    kinds: Mapping[str, int]
    prompt: int | None
    cache_read: int
    cache_write: int
    uncached: int
    output_tokens: int
    cost_nano: int | None
    context_nano: int | None
    output_nano: int | None
    undivided_nano: int
    verdict: str
    prefix_tokens: int
    expected_read: int | None
    lost_tokens: int
    lost_nano: int | None
    idle_s: float
    life_s: int | None
    reason: str

    @property
    def is_miss(self) -> bool:
        return self.verdict not in NO_MISS


class BlockRow(NamedTuple):
    """One block. `first` and `last` are numbers of calls of the session; `calls` counts those that had it."""

    pk: int
    chain: int
    kind: str
    name: str
    detail: str
    server: str
    bytes: int
    tokens: int
    tokens_source: str
    first: int
    last: int
    calls: int
    left_by: str  # compaction | prune | replaced | end | "" while it may be sent again
    event: int | None
    tool_call_id: str
    carried_nano: int


@dataclass(frozen=True, slots=True)
class SessionLedger:
    """The ledger of a session, or of one loop of it."""

    calls: Sequence[CallRow]
    blocks: Sequence[BlockRow]  # by carried cost, the largest first
    skipped: int = 0  # calls that the ledger could not take
    skipped_nano: int = 0  # the undivided cost of skipped calls

    @property
    def has_price(self) -> bool:
        return bool(self.skipped_nano) or any(call.cost_nano is not None for call in self.calls)

    @property
    def context_nano(self) -> int:
        return sum(call.context_nano or 0 for call in self.calls)

    @property
    def output_nano(self) -> int:
        return sum(call.output_nano or 0 for call in self.calls)

    @property
    def undivided_nano(self) -> int:
        return sum(call.undivided_nano for call in self.calls) + self.skipped_nano

    @property
    def cost_nano(self) -> int:
        return sum(call.cost_nano or 0 for call in self.calls) + self.skipped_nano

    @property
    def lost_nano(self) -> int:
        return sum(call.lost_nano or 0 for call in self.calls)

    @property
    def misses(self) -> Sequence[CallRow]:
        """The calls whose cache was missed, the dearest first."""
        found = [call for call in self.calls if call.is_miss]
        return sorted(found, key=lambda call: (-(call.lost_nano or 0), -call.lost_tokens, call.number))


def session_ledger(
    session: int, *, as_of: int | None = None, loops: Iterable[int] | None = None, is_over: bool = False
) -> SessionLedger:
    """Return the ledger of a session, up to the event `as_of`, and of some of its loops.

    `is_over` says that the session has ended: blocks that are still in the window have left by its end.
    """
    chosen = set(loops) if loops is not None else None
    found = records.chains_of(session, as_of, chosen)
    gaps = records.gaps_of(session, as_of, chosen)
    calls = [call for chain in found.values() for call in chain.calls]
    spent = costs.of_turns([*(call.turn for call in calls), *gaps]) if calls or gaps else {}
    turns = records.turns([call.turn for call in calls if call.turn in spent])
    calls = sorted((call for call in calls if call.turn in turns), key=lambda call: call.end_event)
    numbers = {call.pk: number for number, call in enumerate(calls, start=1)}
    rows = [
        _call(call, numbers[call.pk], turns[call.turn], found[call.chain_id].agent_id, spent[call.turn])
        for call in calls
    ]
    context = {row.turn: row.context_nano for row in rows}
    blocks = [
        block
        for chain in found.values()
        for block in _blocks(chain, spent, numbers, context, is_over=is_over)
    ]
    return SessionLedger(
        rows,
        sorted(blocks, key=lambda block: (-block.carried_nano, -block.tokens, block.pk)),
        sum(turn in spent for turn in gaps),
        sum(spent[turn].cost_nano or 0 for turn in gaps if turn in spent),
    )


def _call(call: CallRecord, number: int, turn: TurnRecord, agent_id: str, cost: Cost) -> CallRow:
    billed, divided = cost.billed, cost.divided
    context = output = missed = None
    if divided is not None:
        context, output = to_nano([divided.context, divided.output])
        missed = to_nano([lost(divided.bands, call.lost_tokens)])[0]
    return CallRow(
        chain=call.chain_id,
        number=number,
        turn=turn.pk,
        loop=call.loop,
        ordinal=turn.ordinal,
        agent_id=agent_id,
        model=cost.model,
        started_at=turn.started_at,
        is_recorded=call.is_recorded,
        is_contradictory=bool(turn.unreconciled),
        compacted=call.compacted,
        kinds=call.kinds,
        prompt=billed.prompt if billed else None,
        cache_read=turn.cache_read_tokens,
        cache_write=turn.cache_write_tokens,
        uncached=billed.uncached if billed else 0,
        output_tokens=billed.visible + billed.reasoning if billed else turn.output_tokens,
        cost_nano=cost.cost_nano,
        context_nano=context,
        output_nano=output,
        undivided_nano=cost.undivided_nano,
        verdict=call.verdict,
        prefix_tokens=call.prefix_tokens,
        expected_read=call.expected_read,
        lost_tokens=call.lost_tokens,
        lost_nano=missed,
        idle_s=call.idle_s,
        life_s=call.life_s,
        reason=call.reason,
    )


def _blocks(
    chain: ChainRecords,
    spent: Mapping[int, Cost],
    numbers: Mapping[int, int],
    context: Mapping[int, int | None],
    *,
    is_over: bool,
) -> list[BlockRow]:
    """Return the blocks that the calls of a chain were sent, with what they cost in these calls."""
    calls = [call for call in chain.calls if call.pk in numbers]
    if not calls:
        return []
    costed = [
        Costed(call.ranges, cost.billed.prompt, cost.divided.bands)
        for call in calls
        if (cost := spent[call.turn]).divided is not None and cost.billed is not None
    ]
    units, _ = carried(costed, {number: block.tokens for number, block in chain.blocks.items()})
    at = [call.number for call in calls]
    within = {block.number: _within(block, at) for block in chain.blocks.values()}
    shown = [block for block in chain.blocks.values() if within[block.number]]
    total = sum(context[call.turn] or 0 for call in calls)
    nano = _round_to_total([units[block.number] for block in shown], total)
    return [
        _block(block, calls, within[block.number], numbers, each, is_over=is_over)
        for block, each in zip(shown, nano, strict=True)
    ]


def _within(block: BlockRecord, at: Sequence[int]) -> range:
    """Return the indexes of the calls that had a block; `at` are their numbers in the chain, ascending."""
    end = len(at) if block.last_call is None else bisect_right(at, block.last_call)
    return range(bisect_left(at, block.first_call), end)


def _round_to_total(units: Sequence[int], total: int) -> list[int]:
    """Return units as nano-dollars that add up to `total`, from which their sum differs by rounding only."""
    found = to_nano(units)
    if found:
        largest = max(range(len(found)), key=found.__getitem__)
        found[largest] += total - sum(found)
    return found


def _block(
    block: BlockRecord,
    calls: Sequence[CallRecord],
    within: range,
    numbers: Mapping[int, int],
    nano: int,
    *,
    is_over: bool,
) -> BlockRow:
    has_left = within.stop < len(calls)
    return BlockRow(
        pk=block.pk,
        chain=block.chain_id,
        kind=block.kind,
        name=block.name,
        detail=block.detail,
        server=block.server,
        bytes=block.bytes,
        tokens=block.tokens,
        tokens_source=block.tokens_source,
        first=numbers[calls[within.start].pk],
        last=numbers[calls[within.stop - 1].pk],
        calls=len(within),
        left_by=block.left_by if has_left else "end" if is_over else "",
        event=block.event,
        tool_call_id=block.tool_call_id,
        carried_nano=nano,
    )


def blocks_of_call(turn: int) -> list[tuple[LedgerBlock, int]]:
    """Return the blocks that one call was sent, in order, with what each cost there in nano-dollars.

    They add up to the call's context cost; all are 0 where it is not divided. Four queries.
    """
    call = LedgerCall.objects.filter(turn=turn).first()
    cost = costs.of_turns([turn]).get(turn)
    if call is None or cost is None:
        return []
    numbers = numbers_of(call.ranges)
    found = {
        block.number: block for block in LedgerBlock.objects.filter(chain=call.chain_id, number__in=numbers)
    }
    blocks = [found[number] for number in numbers]
    if cost.divided is None or cost.billed is None:
        return [(block, 0) for block in blocks]
    units = of_each(cost.divided.bands, cost.billed.prompt, [block.tokens for block in blocks])
    context, _ = to_nano([cost.divided.context, cost.divided.output])
    return list(zip(blocks, _round_to_total(units, context), strict=True))
