"""The tokens of each new block of a request, from the difference of two reported prompts.

The prompt of a call is measured by its provider; a block that is new in it is the difference to the call
before. Where one block is new the figure is exact; several share the difference by their bytes (`split`).
The answer of the call before is known from its output tokens. Where no figure exists, four bytes are counted
as a token (`estimated`). Kept blocks keep their tokens. Cost: proportional to the new blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from recorder.core.ledger.blocks import UNRECORDED, Block

Source = Literal["exact", "split", "estimated"]
BYTES_A_TOKEN = 4


class Answer(NamedTuple):
    """The output tokens of the call before; None if they do not reconcile."""

    visible: int | None
    reasoning: int


class Counted(NamedTuple):
    """The tokens of one block, and where they are from."""

    tokens: int
    source: Source


def count(new: Sequence[Block], prompt: int | None, kept: int, answer: Answer | None) -> list[Counted]:
    """Return the tokens of the new blocks of a request.

    `prompt` is the reported size of the request, `kept` the tokens of its other blocks. `answer` is that of
    the call before if the request only appends to it.
    """
    rest = None if prompt is None else prompt - kept
    if rest is None or rest < len(new):
        return [Counted(_estimate(block), "estimated") for block in new]
    known = _from_answer(new, answer)
    others = [index for index in range(len(new)) if index not in known]
    left = rest - sum(known.values())
    if known and others and left >= len(others):
        source: Source = "exact" if len(others) == 1 else "split"
        shares = _shares([new[index] for index in others], left)
        found = {index: Counted(tokens, "exact") for index, tokens in known.items()}
        found |= {index: Counted(tokens, source) for index, tokens in zip(others, shares, strict=True)}
        return [found[index] for index in range(len(new))]
    if any(block.name == UNRECORDED for block in new):
        return _beside_unrecorded(new, rest)
    return [Counted(tokens, "exact" if len(new) == 1 else "split") for tokens in _shares(new, rest)]


def _from_answer(new: Sequence[Block], answer: Answer | None) -> dict[int, int]:
    """Return the tokens of the blocks that are the answer of the call before, by their index."""
    if answer is None or not answer.visible:
        return {}
    texts = [index for index, block in enumerate(new) if block.kind == "assistant"]
    thoughts = [index for index, block in enumerate(new) if block.kind == "thinking"]
    if len(texts) != 1 or len(thoughts) > 1 or bool(thoughts) != bool(answer.reasoning and thoughts):
        return {}
    found = {texts[0]: answer.visible}
    if thoughts:
        found[thoughts[0]] = answer.reasoning
    return found


def _beside_unrecorded(new: Sequence[Block], rest: int) -> list[Counted]:
    """Estimate the blocks that are there; what is left is the system prompt and tools that are not."""
    estimates = [0 if block.name == UNRECORDED else _estimate(block) for block in new]
    if sum(estimates) > rest:
        estimates = shares(estimates, rest)
    left = rest - sum(estimates)
    return [
        Counted(left if block.name == UNRECORDED else tokens, "estimated")
        for block, tokens in zip(new, estimates, strict=True)
    ]


def _estimate(block: Block) -> int:
    return -(-block.bytes // BYTES_A_TOKEN)


def _shares(blocks: Sequence[Block], total: int) -> list[int]:
    """Split a number by the bytes of blocks; the shares add up to it."""
    return shares([block.bytes for block in blocks], total)


def shares(weights: Sequence[int], total: int) -> list[int]:
    """Split `total` by weights, at least 0 each; the shares add up to it, also if all weights are 0."""
    whole = sum(weights) or len(weights)
    even = not sum(weights)
    found, before, weight = [], 0, 0
    for each in weights:
        weight += 1 if even else each
        upto = total * weight // whole
        found.append(upto - before)
        before = upto
    return found
