"""Depth-first order of the loops of a session: each loop after its parent, siblings as recorded.

The session page and the read API both use it, so they agree. Every loop is returned exactly once, even if
parents form a cycle or are missing. Cost: O(n log n); no recursion, so any depth is allowed.
"""

from collections.abc import Iterable
from operator import attrgetter
from typing import Protocol, TypeVar


class TreeNode(Protocol):
    """The attributes of a loop that decide its position; ids ascend in recorded order."""

    @property
    def id(self) -> int: ...
    @property
    def parent_id(self) -> int | None: ...
    @property
    def group_id(self) -> int | None: ...
    @property
    def branch_index(self) -> int | None: ...


Node = TypeVar("Node", bound=TreeNode)


def tree_order(loops: Iterable[Node]) -> list[Node]:
    """Return every loop once, after its parent and before its parent's next sibling.

    Branches of a group are adjacent, in config order. A parent that is not among `loops` counts as none.
    Loops of a cycle come last, from the first recorded one.
    """
    by_id = {loop.id: loop for loop in sorted(loops, key=attrgetter("id"))}
    first_of_group: dict[int, int] = {}
    children: dict[int | None, list[Node]] = {}
    for loop in by_id.values():
        if loop.group_id is not None:
            first_of_group.setdefault(loop.group_id, loop.id)
        parent = loop.parent_id if loop.parent_id in by_id and loop.parent_id != loop.id else None
        children.setdefault(parent, []).append(loop)

    def position(loop: Node) -> tuple[int, int, int]:
        if loop.group_id is None:
            return loop.id, 0, loop.id
        return first_of_group[loop.group_id], loop.branch_index or 0, loop.id

    for siblings in children.values():
        if len(siblings) > 1:
            siblings.sort(key=position, reverse=True)
    ordered: dict[int, Node] = {}
    _visit(list(children.get(None, ())), children, ordered)
    if len(ordered) < len(by_id):
        for loop in by_id.values():
            _visit([loop], children, ordered)
    return list(ordered.values())


def _visit(stack: list[Node], children: dict[int | None, list[Node]], ordered: dict[int, Node]) -> None:
    while stack:
        loop = stack.pop()
        if loop.id not in ordered:
            ordered[loop.id] = loop
            stack.extend(children.get(loop.id, ()))
