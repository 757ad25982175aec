"""Shares of the winner, the other branches and the judge in the cost of a group. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.rendering.number_format import percent
from dashboard.shared.usage_bar import Segment, segments


@dataclass(frozen=True, slots=True)
class Part:
    """Cost of one loop of a group; `css` is the colour of its config."""

    who: str  # label of its kind: winner, other branches, judge
    css: str
    cost_nano: int


@dataclass(frozen=True, slots=True)
class Share:
    """Label and colours of one kind of loop."""

    words: str
    colours: Sequence[str]


def bar(parts: Sequence[Part]) -> list[Segment]:
    """Return the bar's segments, one per part."""
    return segments([(part.css, part.cost_nano) for part in parts])


def shares(parts: Sequence[Part]) -> list[Share]:
    """Return the label of each kind with its percentage, in the order of the bar."""
    total = sum(part.cost_nano for part in parts)
    found = []
    for who in dict.fromkeys(part.who for part in parts):
        same_kind = [part for part in parts if part.who == who]
        part_of = percent(sum(part.cost_nano for part in same_kind) / total) if total else ""
        found.append(Share(f"{who} {part_of}".strip(), list(dict.fromkeys(part.css for part in same_kind))))
    return found
