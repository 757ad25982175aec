"""Which calls of a turn a page shows, and which it folds into groups that load when they are opened. Pure.

A group never loses or gains a call: what was loaded of a turn that goes on stays true. Twenty groups are
folded once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

GROUP = 20  # calls, and groups
KEPT = 5  # calls, at least, that are shown after the last group


@dataclass(frozen=True, slots=True)
class Stretch:
    """Calls from one place in their turn, counted from 0, up to another."""

    first: int
    end: int

    @property
    def is_small(self) -> bool:
        return self.end - self.first <= GROUP


def stretches(calls: int) -> Sequence[Stretch]:
    """Return the groups into which the first of so many calls are folded; the others are shown."""
    small = max(0, calls - KEPT) // GROUP
    large = small // GROUP
    return [*_each(0, large, GROUP * GROUP), *_each(large * GROUP, small, GROUP)]


def within(stretch: Stretch) -> Sequence[Stretch]:
    """Return the small groups of a large one."""
    return _each(stretch.first // GROUP, stretch.end // GROUP, GROUP)


def is_one(stretch: Stretch, calls: int) -> bool:
    """Say whether a turn of so many calls ever folded them so."""
    size = stretch.end - stretch.first
    return size in (GROUP, GROUP * GROUP) and stretch.first % size == 0 and stretch.end <= calls


def _each(first: int, end: int, size: int) -> list[Stretch]:
    return [Stretch(n * size, (n + 1) * size) for n in range(first, end)]
