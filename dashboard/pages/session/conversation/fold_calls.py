"""Splits the calls of a turn into folded groups, loaded on demand, and the calls shown after them. Pure.

Calls are numbered from 0 in recorded order. Full groups of GROUP calls are folded from the front, as long as
at least KEPT calls remain visible; every GROUP small groups are merged into one large group. Invariant: a
group starts at a multiple of its size and never gains or loses a call, so a group that was loaded stays valid
while the turn continues. Cost: O(number of groups); a turn of n calls has at most n / GROUP**2 + GROUP
groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

GROUP = 20  # calls in a small group, and small groups in a large one
KEPT = 5  # minimum number of calls shown after the last group


@dataclass(frozen=True, slots=True)
class Stretch:
    """A half-open range of call numbers within a turn, counted from 0."""

    first: int
    end: int

    @property
    def is_small(self) -> bool:
        return self.end - self.first <= GROUP


def groups_of(calls: int) -> Sequence[Stretch]:
    """Return the groups to fold for a turn of `calls` calls; calls after the last group are shown."""
    small = max(0, calls - KEPT) // GROUP
    large = small // GROUP
    return [*_each(0, large, GROUP * GROUP), *_each(large * GROUP, small, GROUP)]


def small_groups(stretch: Stretch) -> Sequence[Stretch]:
    """Return the small groups of a large group."""
    return _each(stretch.first // GROUP, stretch.end // GROUP, GROUP)


def is_group_of(stretch: Stretch, calls: int) -> bool:
    """Return whether `stretch` is a group that a turn of `calls` calls has or had."""
    size = stretch.end - stretch.first
    return size in (GROUP, GROUP * GROUP) and stretch.first % size == 0 and stretch.end <= calls


def _each(first: int, end: int, size: int) -> list[Stretch]:
    return [Stretch(n * size, (n + 1) * size) for n in range(first, end)]
