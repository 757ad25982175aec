"""The tree of a flame graph. Invariant: the children of a node add up to it, in all amounts, on both sides.

A node has amounts of this session and, in a comparison, of the other one. Nodes of two sessions are the same
if their keys, and those of the nodes above them, are equal; `id` is the hash of these. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2s
from typing import NamedTuple

from dashboard.pages.flame.params import Measure


class Amounts(NamedTuple):
    """Nano-dollars, tokens, milliseconds, and the number of calls without a price."""

    cost: int = 0
    tokens: int = 0
    time: int = 0
    unpriced: int = 0

    def of(self, measure: Measure) -> int:
        return {"cost": self.cost, "tokens": self.tokens, "time": self.time}[measure]


NOTHING = Amounts()


class Place(NamedTuple):
    """The turn of a node, or its loop where it is in none; `number` counts from 1."""

    session: int
    loop: int
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a session. `turns` are the keys of a turn in this session and in the other one."""

    kind: str
    name: str
    key: str
    amounts: Amounts = NOTHING
    other: Amounts = NOTHING
    children: tuple[Node, ...] = ()
    place: Place | None = None
    turns: tuple[int, ...] = ()
    id: str = ""

    def value(self, measure: Measure) -> int:
        """Return its width: the sum of both sides, so that children add up to it in a comparison too."""
        return self.amounts.of(measure) + self.other.of(measure)


def added(amounts: Iterable[Amounts]) -> Amounts:
    """Return the sum of amounts."""
    cost = tokens = time = unpriced = 0
    for each in amounts:
        cost, tokens = cost + each.cost, tokens + each.tokens
        time, unpriced = time + each.time, unpriced + each.unpriced
    return Amounts(cost, tokens, time, unpriced)


def parent(
    kind: str,
    name: str,
    key: str,
    children: Iterable[Node],
    *,
    place: Place | None = None,
    turns: tuple[int, ...] = (),
) -> Node:
    """Return a node that its children add up to; equal keys among them are numbered."""
    seen: Counter[str] = Counter()
    unique = []
    for child in children:
        seen[child.key] += 1
        again = seen[child.key]
        unique.append(replace(child, key=f"{child.key}#{again}") if again > 1 else child)
    total = added(child.amounts for child in unique)
    return Node(kind, name, key, total, children=tuple(unique), place=place, turns=turns)


def merged(one: Node, other: Node) -> Node:
    """Return both trees as one: nodes of equal paths are one node with the amounts of both sides."""
    if bool(one.children) != bool(other.children):  # divided on one side only
        one, other = _divide(one), _divide(other)
    theirs = {child.key: child for child in other.children}
    children = [
        merged(child, theirs.pop(child.key)) if child.key in theirs else child for child in one.children
    ]
    children += [_on_other_side(child) for child in other.children if child.key in theirs]
    children.sort(key=lambda child: child.kind in ("undivided", "idle"))
    return replace(
        one,
        other=other.amounts,
        children=tuple(children),
        turns=tuple(dict.fromkeys(one.turns + other.turns)),
    )


def _divide(node: Node) -> Node:
    if node.children or not any(node.amounts):
        return node
    rest = Node("undivided", "Undivided", "undivided", node.amounts, place=node.place)
    return replace(node, children=(rest,))


def _on_other_side(node: Node) -> Node:
    children = tuple(_on_other_side(child) for child in node.children)
    return replace(node, amounts=NOTHING, other=node.amounts, children=children)


def identified(node: Node, above: str = "") -> Node:
    """Return the tree with the ids of all nodes."""
    own = blake2s(f"{above}\0{node.key}".encode(errors="replace"), digest_size=6).hexdigest()
    return replace(node, id=own, children=tuple(identified(child, own) for child in node.children))


def path_to(node: Node, wanted: str) -> Sequence[Node]:
    """Return the nodes from the top to the one with an id; the top alone if there is none."""
    return next(_paths(node, wanted), [node])


def _paths(node: Node, wanted: str) -> Iterator[list[Node]]:
    if node.id == wanted:
        yield [node]
        return
    for child in node.children:
        for path in _paths(child, wanted):
            yield [node, *path]


def sliced(node: Node, part: slice) -> Node:
    """Return a node with some of its children, which add up to it; itself if the part has none of them."""
    children = node.children[part]
    if not children or len(children) == len(node.children):
        return node
    return replace(
        node,
        children=children,
        amounts=added(child.amounts for child in children),
        other=added(child.other for child in children),
    )


def leaves(node: Node, above: tuple[Node, ...] = ()) -> Iterator[tuple[Node, ...]]:
    """Yield the path to each node without children."""
    path = (*above, node)
    if not node.children:
        yield path
    for child in node.children:
        yield from leaves(child, path)
