"""Branches side by side, turn by turn: each is aligned with the first one, which is the winner. Pure.

Turns that do the same stand in one row. What stands between two such rows is paired in order, and what is
left over stands in rows of its own.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dashboard.rendering.sequence_match import longest_common_subsequence

Places = Sequence[int | None]  # of each branch the place of its turn, None where it has none


@dataclass(frozen=True, slots=True)
class Pairs:
    """One branch beside the winner: its turn for each of the winner's, and those that stand before them."""

    beside: Mapping[int, int]
    before: Mapping[int, Sequence[int]]  # by the winner's turn that they come before; its length: at the end


def rows(branches: Sequence[Sequence[Hashable]]) -> list[Places]:
    """Return the rows in which the turns of branches stand; `branches` are keys of turns, winner first."""
    if not branches:
        return []
    winner, *others = branches
    paired = [_pairs(winner, other) for other in others]
    found: list[Places] = []
    for turn in range(len(winner) + 1):
        found += _left_over([pairs.before.get(turn, ()) for pairs in paired])
        if turn < len(winner):
            found.append([turn, *(pairs.beside.get(turn) for pairs in paired)])
    return found


def _pairs(winner: Sequence[Hashable], other: Sequence[Hashable]) -> Pairs:
    common = longest_common_subsequence(winner, other)
    beside, before = dict(common), {}
    for mine, theirs in _gaps(common, len(winner), len(other)):
        beside.update(zip(mine, theirs, strict=False))
        before[mine.stop] = theirs[len(mine) :]
    return Pairs(beside, before)


def _gaps(common: Sequence[tuple[int, int]], mine: int, theirs: int) -> Iterator[tuple[range, range]]:
    """Yield what stands between matches on both sides."""
    i = j = 0
    for next_i, next_j in (*common, (mine, theirs)):
        yield range(i, next_i), range(j, next_j)
        i, j = next_i + 1, next_j + 1


def _left_over(stacks: Sequence[Sequence[int]]) -> list[Places]:
    height = max(map(len, stacks), default=0)
    return [[None, *(stack[n] if n < len(stack) else None for stack in stacks)] for n in range(height)]
