"""The change where two requests of a chain differ first, for calls that lost tokens by it.

The texts are compared once, when a call is added; what they differ by is kept in the detail of the new block,
so that it is shown later without them. Cost: one query, and proportional to the two requests.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from recorder.core.ledger.blocks import blocks_with_texts
from recorder.core.ledger.changes import MARK, TEXTUAL, Change, Part, change_of, change_of_text
from recorder.core.ledger.verdicts import DIFFERENT
from recorder.core.ledger.window import Entry, Held, NewBlock
from recorder.core.records import Json
from recorder.journal.read import texts
from recorder.ledger.calls import Earlier
from recorder.ledger.chains import Chain
from recorder.ledger.turns import Turn
from recorder.models import LedgerBlock, LedgerCall
from recorder.search.documents import decode


def mark(turn: Turn, earlier: Earlier | None, entry: Entry, before: int) -> Entry:
    """Return the entry with what differs in the detail of its first new block, if that replaced another.

    `before` counts the blocks of the request before.
    """
    place = entry.judgement.prefix_blocks
    if not _is_described(entry.judgement.verdict, entry.judgement.lost_tokens) or place >= before:
        return entry
    if earlier is None or turn.request_event is None or earlier.request_event is None:
        return entry
    found = _change_of_lines(earlier.request_event, turn.request_event, place)
    if found not in TEXTUAL:
        return entry
    first = entry.new[0] if entry.new else None
    if first is None or first.block.detail:
        return entry
    block = replace(first.block, detail=f"{MARK}{found}")
    marked = NewBlock(first.number, block, first.tokens, first.source)
    return replace(entry, new=[marked, *entry.new[1:]])


def of_entry(entry: Entry, before: Sequence[Held], chain: Chain) -> Change:
    """Return what changed in a call that was added to the window of a chain, and is not yet noted there."""
    judged = entry.judgement
    if not _is_described(judged.verdict, judged.lost_tokens):
        return ""
    names = {number: name for number, (_, name, _) in chain.names.items()}
    names |= {each.number: each.block.name for each in entry.new}
    new = {each.number: each.block for each in entry.new}
    earlier, later = (
        [
            Part(held.number, held.kind, names[held.number], new[held.number].detail)
            if held.number in new
            else Part(held.number, held.kind, names[held.number])
            for held in side
        ]
        for side in (before, chain.window.held)
    )
    causes = set(entry.left.values())
    return _change(earlier, later, judged.prefix_blocks, causes)


def of_call(
    call: LedgerCall, before: Sequence[int], after: Sequence[int], blocks: Mapping[int, LedgerBlock]
) -> Change:
    """Return what changed in a stored call; `before` and `after` are the numbers of both windows."""
    if not _is_described(call.verdict, call.lost_tokens):
        return ""
    earlier, later = (
        [Part(n, blocks[n].kind, blocks[n].name, blocks[n].detail) for n in numbers]
        for numbers in (before, after)
    )
    kept = set(after)
    causes = {blocks[number].left_by for number in before if number not in kept}
    return _change(earlier, later, call.prefix_blocks, causes)


def _change(earlier: Sequence[Part], later: Sequence[Part], place: int, causes: Collection[str]) -> Change:
    return change_of(earlier, later, place, compacted="compaction" in causes, pruned="prune" in causes)


def _is_described(verdict: str, lost_tokens: int) -> bool:
    return verdict in DIFFERENT and lost_tokens > 0


def _change_of_lines(earlier: int, later: int, place: int) -> Change:
    """Return by what the blocks at a place of two recorded requests differ; "" if one of them is missing."""
    raws = texts([earlier, later])
    found = [_block(raws.get(line), place) for line in (earlier, later)]
    if found[0] is None or found[1] is None or found[0][:2] != found[1][:2]:
        return ""
    return change_of_text(found[0][2], found[1][2])


def _block(raw: bytes | None, place: int) -> tuple[str, str, str] | None:
    """Return kind, name and text of a block of a recorded request."""
    payload: Json = decode(raw).get("payload") if raw is not None else None
    if not isinstance(payload, dict):
        return None
    found = next(islice(blocks_with_texts(payload), place, None), None)
    return None if found is None else (found[0].kind, found[0].name, found[1])
