"""Reads what the blocks of calls cost, added up by kind and name. Four queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from dashboard.pages.flame.records import Part
from recorder.core.ledger.costs import of_each, to_nano
from recorder.core.ledger.window import numbers_of
from recorder.ledger import costs
from recorder.ledger.costs import Cost
from recorder.models import LedgerBlock, LedgerCall


def parts_of_turns(turns: Mapping[int, int]) -> dict[int, Sequence[Part]]:
    """Return the parts of calls, which add up to their context, in cost and in tokens.

    `turns` are the tokens of the contexts by the primary keys of turns. Calls that the ledger does not have
    yet or makes again are missing. Where a call's cost is not divided, its parts have tokens only.
    """
    calls = list(LedgerCall.objects.filter(turn__in=turns))
    spent = costs.of_turns([call.turn for call in calls]) if calls else {}
    blocks = _blocks({call.chain_id for call in calls})
    found = {}
    for call in calls:
        numbers = list(numbers_of(call.ranges))
        held = [block for number in numbers if (block := blocks.get((call.chain_id, number)))]
        if call.turn in spent and len(held) == len(numbers) and any(block[2] for block in held):
            found[call.turn] = _parts(held, turns[call.turn], spent[call.turn])
    return found


def _blocks(chains: Collection[int]) -> dict[tuple[int, int], tuple[str, str, int]]:
    if not chains:
        return {}
    columns = ("chain_id", "number", "kind", "name", "tokens")
    rows = LedgerBlock.objects.filter(chain__in=chains).values_list(*columns)
    return {(chain, number): (kind, name, tokens) for chain, number, kind, name, tokens in rows}


def _parts(blocks: Sequence[tuple[str, str, int]], tokens: int, cost: Cost) -> Sequence[Part]:
    known = [block[2] for block in blocks]
    units = [0] * len(blocks)
    context = 0
    if cost.divided is not None and cost.billed is not None:
        units = of_each(cost.divided.bands, cost.billed.prompt, known)
        context = to_nano([cost.divided.context, cost.divided.output])[0]
    nano = _exact(to_nano(units), context)
    sizes = _exact([each * tokens // sum(known) for each in known], tokens)
    added: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for (kind, name, _), each, size in zip(blocks, nano, sizes, strict=True):
        added[kind, name][0] += each
        added[kind, name][1] += size
    return [Part(kind, name, each, size) for (kind, name), (each, size) in added.items()]


def _exact(amounts: list[int], total: int) -> list[int]:
    """Return amounts that add up to a total, from which they differ by rounding: the largest has the rest."""
    largest = max(range(len(amounts)), key=amounts.__getitem__)
    amounts[largest] += total - sum(amounts)
    return amounts
