"""The order in which the loops of a session are read: each under its parent, siblings as recorded.

For the session page and the read API, which must not disagree.
"""

from collections.abc import Iterable
from operator import attrgetter
from typing import Protocol, TypeVar


class TreeNode(Protocol):
    """What a loop's place depends on; ids grow in recorded order."""

    @property
    def id(self) -> int: ...
    @property
    def parent_id(self) -> int | None: ...
    @property
    def group_id(self) -> int | None: ...
    @property
    def branch_index(self) -> int | None: ...


P = TypeVar("P", bound=TreeNode)


def tree_order(loops: Iterable[P]) -> list[P]:
    """Return every loop once, after its parent and before its parent's next sibling.

    Branches stand together in config order. A parent that is not among `loops` counts as none. Loops that are
    each other's ancestors come last, from the first recorded.
    """
    known = {loop.id: loop for loop in sorted(loops, key=attrgetter("id"))}
    first_of_group: dict[int, int] = {}
    children: dict[int | None, list[P]] = {}
    for loop in known.values():
        if loop.group_id is not None:
            first_of_group.setdefault(loop.group_id, loop.id)
        parent = loop.parent_id if loop.parent_id in known and loop.parent_id != loop.id else None
        children.setdefault(parent, []).append(loop)

    def place(loop: P) -> tuple[int, int, int]:
        if loop.group_id is None:
            return loop.id, 0, loop.id
        return first_of_group[loop.group_id], loop.branch_index or 0, loop.id

    for siblings in children.values():
        if len(siblings) > 1:
            siblings.sort(key=place, reverse=True)
    ordered: dict[int, P] = {}
    _walk(list(children.get(None, ())), children, ordered)
    if len(ordered) < len(known):
        for loop in known.values():
            _walk([loop], children, ordered)
    return list(ordered.values())


def _walk(waiting: list[P], children: dict[int | None, list[P]], ordered: dict[int, P]) -> None:
    while waiting:
        loop = waiting.pop()
        if loop.id not in ordered:
            ordered[loop.id] = loop
            waiting.extend(children.get(loop.id, ()))
