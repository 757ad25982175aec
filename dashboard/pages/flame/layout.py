"""Places the nodes of a tree in rows: an icicle, in which each row divides the one above.

Siblings that are too narrow are merged into groups, so that nothing is lost: a group has the sum of its
nodes. Invariant: boxes of a row do not overlap, and each lies within the box of its parent. The least width
is doubled until there are at most `most` boxes. Cost: in proportion to the nodes that are wide enough, and
their children.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dashboard.pages.flame.params import Measure
from dashboard.pages.flame.tree import Node

MOST = 300  # boxes
LEAST = 0.3  # percent of the width; a narrower node is merged with its neighbours
GROUP = 2.0  # percent that a group reaches at least, before another one begins


@dataclass(frozen=True, slots=True)
class Box:
    """A node, or several children of `parent` from `first` to `last`. `x` and `width` in percent."""

    nodes: Sequence[Node]
    depth: int
    x: float
    width: float
    value: int
    parent: Node | None = None
    first: int = 0
    last: int = 0

    @property
    def node(self) -> Node | None:
        """Return its node; None for a group."""
        return self.nodes[0] if len(self.nodes) == 1 else None


def layout(root: Node, measure: Measure, *, most: int = MOST, least: float = LEAST) -> Sequence[Box]:
    """Return the boxes of a tree, each after its parent; none if the root has no width."""
    total = root.value(measure)
    if total <= 0:
        return ()
    while True:
        boxes: list[Box] = []
        for box in _boxes(root, measure, total, least):
            boxes.append(box)
            if len(boxes) > most and least <= 100:
                break
        else:
            return boxes
        least *= 2


def _boxes(root: Node, measure: Measure, total: int, least: float) -> Iterator[Box]:
    yield Box([root], 0, 0.0, 100.0, total)
    yield from _below(root, measure, total, least, 0, 1)


def _below(node: Node, measure: Measure, total: int, least: float, start: int, depth: int) -> Iterator[Box]:
    for first, group in _groups(node, measure, total, least):
        value = sum(child.value(measure) for child in group)
        box = Box(
            nodes=[child for child in group if child.value(measure) > 0],
            depth=depth,
            x=100 * start / total,
            width=100 * value / total,
            value=value,
            parent=node,
            first=first,
            last=first + len(group) - 1,
        )
        yield box
        if box.node is not None and box.width >= least:
            yield from _below(box.node, measure, total, least, start, depth + 1)
        start += value


def _groups(node: Node, measure: Measure, total: int, least: float) -> Iterator[tuple[int, list[Node]]]:
    """Yield the wide children alone, and the narrow ones between them in groups, with their first index."""
    run: list[Node] = []
    width, begin = 0.0, 0
    for index, child in enumerate(node.children):
        each = 100 * child.value(measure) / total
        if each >= least:
            if width:
                yield begin, run
            yield index, [child]
            run, width = [], 0.0
            continue
        begin = begin if run else index
        run.append(child)
        width += each
        if width >= max(GROUP, least):
            yield begin, run
            run, width = [], 0.0
    if width:
        yield begin, run
