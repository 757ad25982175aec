"""Selects the turns that a page of the conversation shows.

A page shows at most PAGE consecutive turns; an open page keeps at most HELD of them as new ones arrive. Turns
are addressed by ordinal, so a page of earlier turns never shifts. Cost: two queries, each limited to PAGE + 1
rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from dashboard.shared.compiled_query import compiled
from recorder.models import Turn

PAGE = 30
HELD = 4 * PAGE  # turns that an open page keeps, for a reader who scrolled up
NO_MORE = 2**31 - 1  # larger than any ordinal


@dataclass(frozen=True, slots=True)
class TurnWindow:
    """A page of turns by ordinal; `earlier` and `later` are the `before` of the adjacent pages."""

    ordinals: Sequence[int]
    earlier: int | None
    later: int | None

    @property
    def first(self) -> int:
        return self.ordinals[0] if self.ordinals else 0


def turn_window(loop: int, before: int | None = None) -> TurnWindow:
    """Return the last turns of a loop, or the last turns before an ordinal. Two queries."""
    ordinals = _last(loop) if before is None else _last_before(loop, before)
    shown = ordinals[:PAGE]
    earlier = shown[-1] if len(ordinals) > PAGE else None
    has_later = before is not None and Turn.objects.filter(loop=loop, ordinal__gte=before).exists()
    return TurnWindow(shown[::-1], earlier, before if has_later else None)


@compiled
def _last(loop: int) -> QuerySet[Turn, int]:
    return Turn.objects.filter(loop=loop).order_by("-ordinal").values_list("ordinal", flat=True)[: PAGE + 1]


@compiled
def _last_before(loop: int, before: int) -> QuerySet[Turn, int]:
    turns = Turn.objects.filter(loop=loop, ordinal__lt=before).order_by("-ordinal")
    return turns.values_list("ordinal", flat=True)[: PAGE + 1]


def turns_between(loop: int, first: int, last: int | None) -> list[int]:
    """Return the primary keys of at most PAGE turns with `first` <= ordinal < `last`, the newest of them.

    One query.
    """
    return _turns_since(loop, first, NO_MORE if last is None else last)[::-1]


@compiled
def _turns_since(loop: int, first: int, last: int) -> QuerySet[Turn, int]:
    turns = Turn.objects.filter(loop=loop, ordinal__gte=first, ordinal__lt=last).order_by("-ordinal")
    return turns.values_list("pk", flat=True)[:PAGE]
