"""Colours of the series of one chart: no two are the same. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from dashboard.shared.queries.config_labels import Chip

COLOURS = 8  # slots 1 to 8 are colours, the same number behind them patterns (components.css)
SLOTS = 2 * COLOURS
OTHERS = "others"

K = TypeVar("K")


def series_slots(preferred: Iterable[int]) -> list[int]:
    """Return a slot for each series: its preferred one, else a free colour, else a free pattern; then 0.

    A config prefers its own slot: it looks the same on all pages. Of two with one slot the first keeps it.
    """
    wanted = list(preferred)
    free = iter(sorted(set(range(1, SLOTS + 1)).difference(wanted)))
    used_slots: set[int] = set()
    slots = []
    for slot in wanted:
        slots.append(next(free, 0) if slot in used_slots else slot)
        used_slots.add(slot)
    return slots


def series_class(slot: int) -> str:
    """Return the CSS class of a slot."""
    return f"config-{slot}" if slot else OTHERS


def chart_chips(chips: Mapping[K, Chip]) -> dict[K, Chip]:
    """Return the chips of one chart with slots that differ."""
    slots = series_slots(chip.slot for chip in chips.values())
    return {key: replace(chip, slot=slot) for (key, chip), slot in zip(chips.items(), slots, strict=True)}
