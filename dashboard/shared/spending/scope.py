"""The spending that a query selects: a condition on each kind of record that has usage."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from django.db.models import Q

NOTHING = Q(pk__in=[])


@dataclass(frozen=True, slots=True)
class Scope:
    """Conditions on the records of one project; an empty one holds for all.

    Usage counts if its session matches `sessions`, and its own record `turns`, `loops` or `groups`.
    """

    sessions: Q
    turns: Q
    loops: Q
    groups: Q  # on groups, for the usage of a selection without a recorded judge
    having: Q  # on sessions: every session with such a turn or loop matches it
    rollups: Q | None  # on `Spending`; None where only records can answer

    @property
    def is_everything(self) -> bool:
        return self is EVERYTHING

    def without(self, segments: Collection[str]) -> Scope:
        """Return the scope without some segments of the ledger."""
        if not segments:
            return self
        is_in = Q(segment__in=segments)
        return replace(
            self,
            turns=self.turns & ~Q(loop__segment__in=segments),
            loops=self.loops & ~is_in,
            groups=NOTHING if "judge" in segments else self.groups,
            rollups=None if self.rollups is None else self.rollups & ~is_in,
        )


EVERYTHING = Scope(Q(), Q(), Q(), Q(), Q(), Q())
NONE = Scope(NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING)
