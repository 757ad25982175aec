"""Alignment of the turns of branches in table rows: each branch is aligned with the winner. Pure.

Turns with equal keys that belong to a longest common subsequence of winner and branch share a row. Turns
between two such matches are paired in order; surplus turns get rows of their own before the next row of the
winner.
Invariant: each turn is in exactly one row, and the turns of a branch keep their order.
Cost: one longest common subsequence for each branch but the winner.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dashboard.rendering.sequence_match import longest_common_subsequence

RowPlaces = Sequence[int | None]  # index of each branch's turn; None: the branch has no turn in this row


@dataclass(frozen=True, slots=True)
class Pairs:
    """Alignment of one branch with the winner: turns beside the winner's, and surplus turns before them."""

    beside: Mapping[int, int]
    before: Mapping[int, Sequence[int]]  # by the winner's turn that follows; the key len(winner) is the end


def rows(branches: Sequence[Sequence[Hashable]]) -> list[RowPlaces]:
    """Return the table rows; `branches` are the keys of their turns, the winner first."""
    if not branches:
        return []
    winner, *others = branches
    paired = [_pairs(winner, other) for other in others]
    found: list[RowPlaces] = []
    for turn in range(len(winner) + 1):
        found += _unpaired_rows([pairs.before.get(turn, ()) for pairs in paired])
        if turn < len(winner):
            found.append([turn, *(pairs.beside.get(turn) for pairs in paired)])
    return found


def _pairs(winner: Sequence[Hashable], other: Sequence[Hashable]) -> Pairs:
    common = longest_common_subsequence(winner, other)
    beside, before = dict(common), {}
    for gap, other_gap in _gaps(common, len(winner), len(other)):
        beside.update(zip(gap, other_gap, strict=False))
        before[gap.stop] = other_gap[len(gap) :]
    return Pairs(beside, before)


def _gaps(common: Sequence[tuple[int, int]], length: int, other_length: int) -> Iterator[tuple[range, range]]:
    """Yield the ranges between matches, of both sequences."""
    i = j = 0
    for next_i, next_j in (*common, (length, other_length)):
        yield range(i, next_i), range(j, next_j)
        i, j = next_i + 1, next_j + 1


def _unpaired_rows(stacks: Sequence[Sequence[int]]) -> list[RowPlaces]:
    height = max(map(len, stacks), default=0)
    return [[None, *(stack[n] if n < len(stack) else None for stack in stacks)] for n in range(height)]
