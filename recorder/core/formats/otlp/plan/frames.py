"""Agent spans that are no loops, as one only wraps others: the outer one, as a rule.

A named agent whose inner spans are nameless and follow each other is the loop itself.

Cost: each span is looked at once, the innermost first; of what is below several spans the largest part is
taken over and the others are added to it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from recorder.core.formats.otlp.plan.calls import Key, key_of, overlapping
from recorder.core.formats.otlp.plan.forest import Forest
from recorder.core.formats.otlp.spans.digest import Digest


@dataclass(slots=True)
class _Below:
    """What is below a span and below no loop under it: whether calls are, and the loops."""

    has_own: bool = False
    loops: list[Digest] = field(default_factory=list)
    has_named: bool = False  # a loop that is named, or no agent span
    overlap: bool = False  # loops are known to overlap; more loops do not change that

    def add(self, span: Digest) -> None:
        """Add a loop."""
        self.loops.append(span)
        self.has_named |= span.kind != "agent" or span.named

    def joined(self, other: _Below) -> _Below:
        """Return both, in one of them."""
        small, large = sorted((self, other), key=lambda each: len(each.loops))
        large.loops += small.loops
        large.has_own |= small.has_own
        large.has_named |= small.has_named
        large.overlap |= small.overlap
        return large

    @property
    def is_sequence(self) -> bool:
        """Return whether the loops follow each other."""
        self.overlap = self.overlap or any(len(group) > 1 for group in overlapping(self.loops))
        return not self.overlap


def frames_of(forest: Forest, agents: Mapping[Key, Digest], own: Collection[Key]) -> set[Key]:
    """Return the keys of `agents` that are no loops; `own` are the keys of model calls and tools."""
    frames: set[Key] = set()
    of: dict[Key, _Below] = {}
    for span in reversed(forest.outer_first):
        key = key_of(span)
        below = of.pop(key, None) or _Below()
        passed = below
        if key in agents:
            found = [] if below.has_own or span.is_guess else _frames(span, below)
            frames.update(map(key_of, found))
            if key not in frames:  # it is a loop, and hides what is below it
                passed = _Below()
                passed.add(span)
        passed.has_own |= key in own
        parent = forest.parent(span)
        if parent is not None:
            above = of.get(key_of(parent))
            of[key_of(parent)] = passed if above is None else above.joined(passed)
    return frames


def _frames(span: Digest, below: _Below) -> list[Digest]:
    if not below.loops:
        return []
    return below.loops if span.named and not below.has_named and below.is_sequence else [span]
