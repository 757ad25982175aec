"""Loops and turns that changed lately, whose waste is searched for behind the commits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recorder.pubsub.invalidation import Invalidation

HELD = 500  # the newest loops and turns that are kept


@dataclass(slots=True)
class Changed:
    """Loops and turns by primary key; `is_reshaped`: a loop began, maybe one that repeats another."""

    loops: set[int] = field(default_factory=set)
    turns: set[int] = field(default_factory=set)
    is_reshaped: bool = False


@dataclass(slots=True)
class Recent:
    """The changes since the search for waste moved on, and in the time before: it may be behind."""

    _now: Changed = field(default_factory=Changed)
    _before: Changed = field(default_factory=Changed)

    def add(self, touched: Invalidation, session: int) -> None:
        """Add what a commit changed in a session."""
        loops = {loop for loop, of in touched.loops.items() if of == session}
        self._now.loops = _newest(self._now.loops | loops)
        self._now.turns = _newest(self._now.turns | touched.turns.keys())
        self._now.is_reshaped |= session in touched.reshaped

    def take(self) -> Changed:
        """Return what changed before the search moved on; it is forgotten the next time but one."""
        now, before = self._now, self._before
        self._before, self._now = now, Changed()
        return Changed(
            now.loops | before.loops, now.turns | before.turns, now.is_reshaped or before.is_reshaped
        )


def _newest(keys: set[int]) -> set[int]:
    return keys if len(keys) <= HELD else set(sorted(keys)[-HELD:])
