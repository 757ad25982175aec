"""The tree of loops as it is drawn: a straight spine, and an indent only where a run went another way.

Continuations, reruns and compaction passes stay on the line of the loop they follow. Branches, sub-agents and
the branches of a parallel group stand below it. Pure: rows in, marks out, whatever nonsense the parents say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from recorder.core.tree import tree_order

DEEPEST = 6  # levels that indent; what is deeper stands on the last one and says how deep it is

Kind = Literal["loop", "child", "box"]
Where = Literal["inside", "below"]
What = Literal["open", "box", "down", "up", "box-end", "close"]


class Placed(Protocol):
    """What a loop's place depends on."""

    id: int

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

    @property
    def is_deep(self) -> bool:
        return self.depth > DEEPEST


@dataclass(frozen=True, slots=True)
class Mark:
    """One step of drawing the tree from top to bottom."""

    what: What
    node: Node
    where: Where = "below"  # of "down": inside a box or below a row


@dataclass(slots=True)
class _Line:
    """A list of nodes under each other, and what they stand under."""

    nodes: list[Node]
    level: int
    depth: int


def marks(
    loops: Collection[Placed],
    *,
    judges: Mapping[int, int],
    called: Mapping[int, int],
    children: Mapping[int, Sequence[int]],
) -> list[Mark]:
    """Return the steps that draw the tree.

    `judges` gives the group that a loop judged, `called` the loop that called a sub-agent of this session,
    `children` the children that a loop has in other sessions.
    """
    builder = _Builder(judges, called, children)
    for loop in tree_order(loops):
        builder.place(loop)
    return list(_walk(builder.top.nodes))


class _Builder:
    def __init__(
        self, judges: Mapping[int, int], called: Mapping[int, int], children: Mapping[int, Sequence[int]]
    ) -> None:
        self.top = _Line([], 1, 1)
        self._judges, self._called, self._children = judges, called, children
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
        for child in self._children.get(loop.id, ()):
            _append(self._below(node), Node("child", child))

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
        node.level, node.depth = box.level + 1, box.depth + 1
        box.branches.append(node)

    def _below(self, node: Node) -> _Line:
        """Return the line under a node; at the last level that is the one it stands on."""
        if node.level >= DEEPEST:
            line = self._box_lines[node.key] if node.kind == "box" else self._lines[node.key]
            return _Line(line.nodes, line.level, node.depth + 1)
        return _Line(node.children, node.level + 1, node.depth + 1)


def _append(line: _Line, node: Node) -> None:
    node.level, node.depth = line.level, line.depth
    line.nodes.append(node)


def _walk(nodes: Iterable[Node]) -> Iterator[Mark]:
    for node in nodes:
        yield Mark("open", node)
        if node.kind == "box":
            yield Mark("box", node)
            yield from _down(node, node.branches, "inside")
            yield Mark("box-end", node)
        if node.children:
            yield from _down(node, node.children, "below")
        yield Mark("close", node)


def _down(node: Node, nodes: Sequence[Node], where: Where) -> Iterator[Mark]:
    yield Mark("down", node, where)
    yield from _walk(nodes)
    yield Mark("up", node)
