"""Who took which share of what a group cost. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.rendering.number_format import percent
from dashboard.shared.usage_bar import Segment, segments


@dataclass(frozen=True, slots=True)
class Part:
    """What one loop of a group cost; `css` is its config's colour."""

    who: str  # winner, branches, judge
    css: str
    cost_nano: int


@dataclass(frozen=True, slots=True)
class Share:
    """Those of one kind together."""

    words: str
    colours: Sequence[str]


def bar(parts: Sequence[Part]) -> list[Segment]:
    """Lay the parts side by side."""
    return segments([(part.css, part.cost_nano) for part in parts])


def shares(parts: Sequence[Part]) -> list[Share]:
    """Return the shares in words, in the order of the bar."""
    total = sum(part.cost_nano for part in parts)
    found = []
    for who in dict.fromkeys(part.who for part in parts):
        mine = [part for part in parts if part.who == who]
        part_of = percent(sum(part.cost_nano for part in mine) / total) if total else ""
        found.append(Share(f"{who} {part_of}".strip(), list(dict.fromkeys(part.css for part in mine))))
    return found
