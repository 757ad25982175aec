"""Which turns a page of the conversation shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recorder.models import Turn

PAGE = 30
REDRAWN = 200  # turns of an open page that a reconnect draws again


@dataclass(frozen=True, slots=True)
class TurnWindow:
    """A page of turns by their ordinals; `earlier` is the one to ask for those before it."""

    ordinals: Sequence[int]
    earlier: int | None
    later: int | None

    @property
    def first(self) -> int:
        return self.ordinals[0] if self.ordinals else 0


def turn_window(loop: int, before: int | None = None) -> TurnWindow:
    """Return the last turns of a loop, or the last before an ordinal. Two queries."""
    every = Turn.objects.filter(loop=loop)
    chosen = every if before is None else every.filter(ordinal__lt=before)
    found = list(chosen.order_by("-ordinal").values_list("ordinal", flat=True)[: PAGE + 1])
    shown = found[:PAGE]
    earlier = shown[-1] if len(found) > PAGE else None
    has_later = before is not None and every.filter(ordinal__gte=before).exists()
    return TurnWindow(shown[::-1], earlier, before if has_later else None)


def turns_between(loop: int, first: int, last: int | None) -> list[int]:
    """Return the turns that an open page shows, from an ordinal on, up to another if given. One query."""
    shown = Turn.objects.filter(loop=loop, ordinal__gte=first)
    bounded = shown if last is None else shown.filter(ordinal__lt=last)
    return list(bounded.order_by("-ordinal").values_list("pk", flat=True)[:REDRAWN])[::-1]
