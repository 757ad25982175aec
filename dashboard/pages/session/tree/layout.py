"""The tree of loops as it is drawn: a straight spine, and an indent only where a run went another way.

Continuations, reruns and compaction passes stay on the line of the loop they follow. Branches, sub-agents and
the branches of a parallel group stand below it. Of a large tree a window is drawn. Pure: rows in, marks out,
whatever nonsense the parents say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from recorder.core.loop_tree import tree_order

DEEPEST = 6  # levels that indent; what is deeper stands on the last one and says how deep it is

Kind = Literal["loop", "child", "box"]
Where = Literal["inside", "below"]
What = Literal["open", "box", "down", "up", "box-end", "close"]


class Placed(Protocol):
    """What a loop's place depends on."""

    @property
    def id(self) -> int: ...
    @property
    def parent_id(self) -> int | None: ...
    @property
    def group_id(self) -> int | None: ...
    @property
    def branch_index(self) -> int | None: ...
    @property
    def role(self) -> str: ...
    @property
    def continuation_kind(self) -> str: ...


@dataclass(slots=True)
class Node:
    """A loop, a child of another session, or the box around a parallel group."""

    kind: Kind
    key: int  # of the loop, the child or the group
    level: int = 1
    depth: int = 1
    branches: list[Node] = field(default_factory=list)  # of a box
    children: list[Node] = field(default_factory=list)
    above: Node | None = None  # what it stands below, or in

    @property
    def is_deep(self) -> bool:
        return self.depth > DEEPEST


@dataclass(frozen=True, slots=True)
class Mark:
    """One step of drawing the tree from top to bottom."""

    what: What
    node: Node
    where: Where = "below"  # of "down": inside a box or below a row
    has_below: bool = False  # of "open": there are rows below it, or in it


@dataclass(frozen=True, slots=True)
class Window:
    """Rows of a tree that stand under each other, and how many there are above and below."""

    marks: Sequence[Mark]
    first: int  # numbers from the top
    last: int
    earlier: int
    later: int


@dataclass(slots=True)
class _Line:
    """A list of nodes under each other, and what they stand under."""

    nodes: list[Node]
    level: int
    depth: int
    above: Node | None = None


def planted(
    loops: Collection[Placed],
    *,
    judges: Mapping[int, int],
    called: Mapping[int, int],
    children: Mapping[int, Sequence[int]],
    deeper: Mapping[int, Sequence[int]] | None = None,
) -> list[Node]:
    """Return the nodes on the spine, with all that stands below them.

    `judges` gives the group that a loop judged, `called` the loop that called a sub-agent of this session,
    `children` the children that a loop has in other sessions, `deeper` those of these children.
    """
    builder = _Builder(judges, called, children, deeper or {})
    for loop in tree_order(loops):
        builder.place(loop)
    return builder.top.nodes


def rows(nodes: Sequence[Node]) -> Iterator[Node]:
    """Yield what is drawn as a row, from top to bottom; a box is the frame of its branches."""
    waiting = list(reversed(nodes))
    while waiting:
        node = waiting.pop()
        if node.kind != "box":
            yield node
        waiting += reversed(node.children)
        waiting += reversed(node.branches)


def window(nodes: Sequence[Node], ordered: Sequence[Node], around: int, size: int) -> Window:
    """Return about `size` rows around one, given by its number, with those that they stand below."""
    first = max(0, min(around - size // 2, len(ordered) - size))
    last = min(first + size, len(ordered))
    if len(ordered) <= size:
        return Window(list(_walk(nodes, None)), first, last, 0, 0)
    kept: set[int] = set()
    for row in ordered[first:last]:
        node: Node | None = row
        while node is not None and id(node) not in kept:
            kept.add(id(node))
            node = node.above
    shown = sum(id(row) in kept for row in ordered[:first])
    return Window(list(_walk(nodes, kept)), first, last, first - shown, len(ordered) - last)


class _Builder:
    def __init__(
        self,
        judges: Mapping[int, int],
        called: Mapping[int, int],
        children: Mapping[int, Sequence[int]],
        deeper: Mapping[int, Sequence[int]],
    ) -> None:
        self.top = _Line([], 1, 1)
        self._judges, self._called, self._children, self._deeper = judges, called, children, deeper
        self._nodes: dict[int, Node] = {}
        self._lines: dict[int, _Line] = {}  # where a loop's continuation goes
        self._boxes: dict[int, Node] = {}
        self._box_of: dict[int, Node] = {}  # by loop
        self._box_lines: dict[int, _Line] = {}

    def place(self, loop: Placed) -> None:
        node = Node("loop", loop.id)
        group = loop.group_id if loop.group_id is not None else self._judges.get(loop.id)
        if group is not None:
            self._put_in_box(node, group, loop)
        else:
            line = self._line_of(loop)
            _append(line, node)
            self._lines[loop.id] = line
        self._nodes[loop.id] = node
        if loop.id in self._children:
            self._hang(self._children[loop.id], self._below(node))

    def _hang(self, children: Sequence[int], line: _Line) -> None:
        """Put children of other sessions on a line, and theirs below them; at the last level beside them."""
        for child in children:
            node = Node("child", child)
            _append(line, node)
            is_last = node.level >= DEEPEST
            nodes, above = (line.nodes, line.above) if is_last else (node.children, node)
            below = _Line(nodes, node.level + (not is_last), node.depth + 1, above)
            self._hang(self._deeper.get(child, ()), below)

    def _line_of(self, loop: Placed) -> _Line:
        caller = self._called.get(loop.id, loop.parent_id if loop.role == "sub_agent" else None)
        if caller is not None and caller in self._nodes:
            return self._below(self._nodes[caller])
        if loop.parent_id is None or loop.parent_id not in self._nodes:
            return self.top
        if loop.continuation_kind == "Branch":
            return self._below(self._box_of.get(loop.parent_id) or self._nodes[loop.parent_id])
        return self._lines[loop.parent_id]

    def _put_in_box(self, node: Node, group: int, loop: Placed) -> None:
        if group not in self._boxes:
            box = self._boxes[group] = Node("box", group)
            line = self._lines.get(loop.parent_id, self.top) if loop.parent_id else self.top
            _append(line, box)
            self._box_lines[group] = line
        box = self._boxes[group]
        self._box_of[loop.id] = box
        self._lines[loop.id] = self._box_lines[group]
        node.level, node.depth, node.above = box.level + 1, box.depth + 1, box
        box.branches.append(node)

    def _below(self, node: Node) -> _Line:
        """Return the line under a node; at the last level that is the one it stands on."""
        if node.level >= DEEPEST:
            line = self._box_lines[node.key] if node.kind == "box" else self._lines[node.key]
            return _Line(line.nodes, line.level, node.depth + 1, line.above)
        return _Line(node.children, node.level + 1, node.depth + 1, node)


def _append(line: _Line, node: Node) -> None:
    node.level, node.depth, node.above = line.level, line.depth, line.above
    line.nodes.append(node)


def _walk(nodes: Iterable[Node], kept: Collection[int] | None) -> Iterator[Mark]:
    """Yield the steps that draw nodes, or those of them that are kept."""
    for node in _kept(nodes, kept):
        has_below = any(_kept(node.children, kept))
        yield Mark("open", node, has_below=has_below)
        if node.kind == "box":
            yield Mark("box", node)
            yield from _down(node, node.branches, "inside", kept)
            yield Mark("box-end", node)
        if has_below:
            yield from _down(node, node.children, "below", kept)
        yield Mark("close", node)


def _down(node: Node, nodes: Sequence[Node], where: Where, kept: Collection[int] | None) -> Iterator[Mark]:
    yield Mark("down", node, where)
    yield from _walk(nodes, kept)
    yield Mark("up", node)


def _kept(nodes: Iterable[Node], kept: Collection[int] | None) -> Iterator[Node]:
    return iter(nodes) if kept is None else (node for node in nodes if id(node) in kept)
