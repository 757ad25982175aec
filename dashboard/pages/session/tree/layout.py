"""Lays out the tree of loops: a straight spine, indented only where execution diverges. Pure.

Continuations, reruns and compactions stay on the level of the loop they follow. Branches, sub-agents and the
members of a parallel group are nested below it, up to DEEPEST levels. Of a large tree a window of rows is
drawn, together with the ancestors of these rows.

Invariants: every loop is placed exactly once, after its parent; unknown, self-referencing or cyclic parents
make a root. The marks of any window are properly nested. Cost: O(n log n) for n loops, because of
`tree_order`, recursion only as deep as DEEPEST; a window walks all siblings of its rows but draws only the
selected ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from recorder.core.loop_tree import tree_order

DEEPEST = 6  # indented levels; deeper nodes stay on the last level and show their depth

Kind = Literal["loop", "child", "box"]
Where = Literal["inside", "below"]
What = Literal["open", "box", "down", "up", "box-end", "close"]


class TreeLoop(Protocol):
    """The fields of a loop that determine its position."""

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
    above: Node | None = None  # its parent node or its box

    @property
    def is_deep(self) -> bool:
        return self.depth > DEEPEST


@dataclass(frozen=True, slots=True)
class Mark:
    """One step of drawing the tree from top to bottom."""

    what: What
    node: Node
    where: Where = "below"  # of "down": inside a box or below a row
    has_below: bool = False  # of "open": it has children in the window


@dataclass(frozen=True, slots=True)
class Window:
    """Consecutive rows of a tree, and the numbers of rows above and below."""

    marks: Sequence[Mark]
    first: int  # row numbers from the top
    last: int
    earlier: int
    later: int


@dataclass(slots=True)
class _Line:
    """A list of sibling nodes, with their level and parent."""

    nodes: list[Node]
    level: int
    depth: int
    above: Node | None = None


def build_tree(
    loops: Collection[TreeLoop],
    *,
    judges: Mapping[int, int],
    called: Mapping[int, int],
    children: Mapping[int, Sequence[int]],
    deeper: Mapping[int, Sequence[int]] | None = None,
) -> list[Node]:
    """Return the nodes of the spine with all their descendants.

    `judges` maps a judge to its group, `called` a sub-agent of this session to its calling loop, `children` a
    loop to its children in other sessions, `deeper` such a child to its own children.
    """
    builder = _Builder(judges, called, children, deeper or {})
    for loop in tree_order(loops):
        builder.place(loop)
    return builder.top.nodes


def rows(nodes: Sequence[Node]) -> Iterator[Node]:
    """Yield the nodes drawn as rows, from top to bottom; a box is a frame and not a row."""
    waiting = list(reversed(nodes))
    while waiting:
        node = waiting.pop()
        if node.kind != "box":
            yield node
        waiting += reversed(node.children)
        waiting += reversed(node.branches)


def window(nodes: Sequence[Node], ordered: Sequence[Node], around: int, size: int) -> Window:
    """Return about `size` rows around row number `around`, and the ancestors of these rows."""
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
        self._lines: dict[int, _Line] = {}  # where the continuation of a loop goes
        self._boxes: dict[int, Node] = {}
        self._box_of: dict[int, Node] = {}  # by loop
        self._box_lines: dict[int, _Line] = {}

    def place(self, loop: TreeLoop) -> None:
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
            self._add_children(self._children[loop.id], self._below(node))

    def _add_children(self, children: Sequence[int], line: _Line) -> None:
        """Append children of other sessions, with theirs below them or, on the last level, beside them."""
        for child in children:
            node = Node("child", child)
            _append(line, node)
            is_last = node.level >= DEEPEST
            nodes, above = (line.nodes, line.above) if is_last else (node.children, node)
            below = _Line(nodes, node.level + (not is_last), node.depth + 1, above)
            self._add_children(self._deeper.get(child, ()), below)

    def _line_of(self, loop: TreeLoop) -> _Line:
        caller = self._called.get(loop.id, loop.parent_id if loop.role == "sub_agent" else None)
        if caller is not None and caller in self._nodes:
            return self._below(self._nodes[caller])
        if loop.parent_id is None or loop.parent_id not in self._nodes:
            return self.top
        if loop.continuation_kind == "Branch":
            return self._below(self._box_of.get(loop.parent_id) or self._nodes[loop.parent_id])
        return self._lines[loop.parent_id]

    def _put_in_box(self, node: Node, group: int, loop: TreeLoop) -> None:
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
        """Return the line below a node; on the last level the line of the node itself."""
        if node.level >= DEEPEST:
            line = self._box_lines[node.key] if node.kind == "box" else self._lines[node.key]
            return _Line(line.nodes, line.level, node.depth + 1, line.above)
        return _Line(node.children, node.level + 1, node.depth + 1, node)


def _append(line: _Line, node: Node) -> None:
    node.level, node.depth, node.above = line.level, line.depth, line.above
    line.nodes.append(node)


def _walk(nodes: Iterable[Node], kept: Collection[int] | None) -> Iterator[Mark]:
    """Yield the marks that draw nodes, or only those in `kept`."""
    for node in _in_window(nodes, kept):
        has_below = any(_in_window(node.children, kept))
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


def _in_window(nodes: Iterable[Node], kept: Collection[int] | None) -> Iterator[Node]:
    return iter(nodes) if kept is None else (node for node in nodes if id(node) in kept)
