"""The records of the ledger of a session: columns as tuples.

Instances of models would take twice the time of everything else that a page of 1,000 calls does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from dashboard.shared.compiled_query import aware, in_list, list_param, select
from recorder.core.ledger.window import Ranges
from recorder.models import LedgerBlock, LedgerCall, LedgerChain, LedgerGap


class CallRecord(NamedTuple):
    """The columns of `LedgerCall` that are read."""

    pk: int
    chain_id: int
    turn: int
    loop: int
    number: int
    end_event: int
    ranges: Ranges
    kinds: Mapping[str, int]
    is_recorded: bool
    compacted: bool
    verdict: str
    prefix_tokens: int
    expected_read: int | None
    lost_tokens: int
    idle_s: float
    life_s: int | None
    reason: str


class BlockRecord(NamedTuple):
    """The columns of `LedgerBlock` that are read."""

    pk: int
    chain_id: int
    number: int
    kind: str
    name: str
    detail: str
    server: str
    bytes: int
    tokens: int
    tokens_source: str
    first_call: int
    last_call: int | None
    left_by: str
    event: int | None
    tool_call_id: str


class TurnRecord(NamedTuple):
    """The columns of `Turn` that are read, in the order of `_TURNS`."""

    pk: int
    ordinal: int
    started_at: datetime
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    unreconciled: int


@dataclass(slots=True)
class ChainRecords:
    """A chain: its agent, its blocks by number, and its calls in order."""

    agent_id: str
    blocks: dict[int, BlockRecord] = field(default_factory=dict)
    calls: list[CallRecord] = field(default_factory=list)


def gaps_of(session: int, as_of: int | None, loops: set[int] | None) -> list[int]:
    """Return the turns of the calls that the ledger could not take."""
    gaps = LedgerGap.objects.filter(session=session)
    if as_of is not None:
        gaps = gaps.filter(end_event__lte=as_of)
    if loops is not None:
        gaps = gaps.filter(loop__in=loops)
    return list(gaps.values_list("turn", flat=True))


def chains_of(session: int, as_of: int | None, loops: set[int] | None) -> dict[int, ChainRecords]:
    """Return the chains of a session by their primary keys. Three queries.

    The ledger may be written between them: what belongs to a chain that came later is left out with it.
    """
    chains = LedgerChain.objects.filter(session=session).order_by("pk").values_list("pk", "agent_id")
    found = {pk: ChainRecords(agent_id) for pk, agent_id in chains}
    calls = LedgerCall.objects.filter(session=session).order_by("end_event")
    if as_of is not None:
        calls = calls.filter(end_event__lte=as_of)
    if loops is not None:
        calls = calls.filter(loop__in=loops)
    for call_row in calls.values_list(*CallRecord.__annotations__):
        call = CallRecord(*call_row)
        if call.chain_id in found:
            found[call.chain_id].calls.append(call)
    for block_row in LedgerBlock.objects.filter(session=session).values_list(*BlockRecord.__annotations__):
        block = BlockRecord(*block_row)
        if block.chain_id in found:
            found[block.chain_id].blocks[block.number] = block
    return found


_TURNS = """SELECT id, ordinal, started_at, cache_read_tokens, cache_write_tokens, output_tokens, unreconciled
FROM recorder_turn WHERE {}"""


def turns(pks: Collection[int]) -> dict[int, TurnRecord]:
    """Return turns by their primary keys. One query."""
    rows = select(_TURNS.format(in_list("id")), list_param(pks))
    return {pk: TurnRecord(pk, ordinal, aware(at), *others) for pk, ordinal, at, *others in rows}
