"""The layout of made-up trees: boxes lie within their parents, do not overlap, and lose nothing."""

import itertools
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.pages.flame.layout import layout
from dashboard.pages.flame.tree import Amounts, Node, identified, merged, parent, path_to, sliced

AMOUNTS = st.builds(Amounts, *[st.integers(0, 10**6)] * 3)
LEAVES = st.builds(lambda name, amounts: Node("block", name, name, amounts), st.text(max_size=3), AMOUNTS)
TREES = st.recursive(
    LEAVES,
    lambda below: st.builds(
        lambda name, children: parent("loop", name, name, children),
        st.text(max_size=3),
        st.lists(below, min_size=1, max_size=6),
    ),
    max_leaves=25,
).map(lambda node: parent("session", "Session", "session", [node]))
ROUNDING = 1e-6


def rows(boxes):
    found = defaultdict(list)
    for box in boxes:
        found[box.depth].append(box)
    return found


def check(root, boxes):
    if not root.value("cost"):
        assert boxes == ()
        return
    assert boxes[0].width == 100
    for row in rows(boxes).values():
        for one, following in itertools.pairwise(row):
            assert one.x + one.width <= following.x + ROUNDING
    inside = defaultdict(int)
    for box in boxes[1:]:
        holder = next(each for each in boxes if each.node is not None and each.node is box.parent)
        assert box.depth == holder.depth + 1
        assert box.x >= holder.x - ROUNDING
        assert box.x + box.width <= holder.x + holder.width + ROUNDING
        assert box.value == sum(node.value("cost") for node in box.nodes)
        inside[id(holder.node)] += box.value
    for box in boxes:
        if box.node is not None and id(box.node) in inside:
            assert inside[id(box.node)] == box.value


@settings(max_examples=60, deadline=None)
@given(TREES, TREES)
def test_boxes_are_inside_their_parents_and_nothing_is_lost(one, other):
    for root in (identified(one), identified(merged(one, other))):
        check(root, layout(root, "cost"))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=200), st.integers(3, 60))
def test_there_are_at_most_so_many_boxes(costs, most):
    turns = [Node("turn", str(n), str(n), Amounts(each)) for n, each in enumerate(costs)]
    root = parent("session", "", "s", turns)
    boxes = layout(root, "cost", most=most)
    check(root, boxes)
    assert len(boxes) <= max(most, 52)  # beyond groups of two percent they cannot be merged


def test_a_group_leads_to_its_nodes():
    turns = [Node("turn", f"Turn {n}", f"turn:{n}", Amounts(1)) for n in range(1_000)]
    root = identified(parent("session", "Session", "session", turns))
    boxes = layout(root, "cost")
    groups = [box for box in boxes if box.node is None]
    assert sum(len(box.nodes) for box in groups) == 1_000
    part = sliced(root, slice(groups[3].first, groups[3].last + 1))
    assert part.value("cost") == groups[3].value
    assert all(box.node is not None for box in layout(part, "cost"))


@pytest.mark.parametrize("names", [("a\0b", "a"), ("\ud800", "x"), ("a", "a")])
def test_equal_and_hostile_names_have_ids_of_their_own(names):
    children = [Node("block", name, name, Amounts(1)) for name in names]
    root = identified(parent("session", "Session", "session", children))
    ids = {root.id, *(child.id for child in root.children)}
    assert len(ids) == 3
    for child in root.children:
        assert path_to(root, child.id)[-1] is child
    assert path_to(root, "0" * 12) == [root]
