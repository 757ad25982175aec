"""The layout of the tree of loops: spine, nesting, windows, and invalid parents."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from dashboard.pages.session.tree.layout import DEEPEST, build_tree, rows, window
from tests.support.count_calls import count_calls


@dataclass
class Loop:
    """The fields of a loop that determine its position."""

    id: int
    parent_id: int | None = None
    continuation_kind: str = "Initial"
    role: str = "normal"
    group_id: int | None = None
    branch_index: int | None = None


def marks(loops, judges=(), called=(), children=()):
    """Return the marks of the whole tree."""
    nodes = build_tree(loops, judges=dict(judges), called=dict(called), children=dict(children))
    every = list(rows(nodes))
    return window(nodes, every, 0, len(every)).marks


def tree_lines(*loops, judges=None, called=None, children=None):
    """Return the tree as indented lines."""
    lines, indent = [], 0
    for mark in marks(loops, judges or {}, called or {}, children or {}):
        if mark.what == "open" and mark.node.kind != "box":
            lines.append("  " * indent + ("child " if mark.node.kind == "child" else "") + str(mark.node.key))
        elif mark.what == "box":
            lines.append("  " * indent + f"box {mark.node.key}")
        indent += {"down": 1, "up": -1}.get(mark.what, 0)
    assert indent == 0
    return lines


def continuing(pk, parent, kind="Default", **more):
    return Loop(pk, parent, kind, **more)


def test_continuations_and_reruns_stay_on_one_line():
    loops = (
        Loop(1),
        continuing(2, 1),
        continuing(3, 2, "Rerun"),
        continuing(4, 3, "Compaction", role="compaction"),
    )

    assert tree_lines(*loops) == ["1", "2", "3", "4"]


def test_roots_are_in_recorded_order():
    assert tree_lines(Loop(2), Loop(1), continuing(3, 1)) == ["1", "3", "2"]


def test_a_branch_is_nested_below_its_parent_together_with_its_continuation():
    loops = Loop(1), continuing(2, 1), continuing(3, 1, "Branch"), continuing(4, 3)

    assert tree_lines(*loops) == ["1", "  3", "  4", "2"]


def test_a_parallel_group_is_a_box_with_its_judge_last_and_the_continuation_after_it():
    branches = [Loop(n, role="branch", group_id=7, branch_index=n - 1) for n in (1, 2, 3)]
    loops = *branches, Loop(4, role="judge"), continuing(5, 1), continuing(6, 1, "Branch")

    assert tree_lines(*loops, judges={4: 7}) == ["box 7", "  1", "  2", "  3", "  4", "  6", "5"]


def test_a_group_that_continues_a_loop_is_on_the_same_level():
    loops = Loop(1), *(continuing(n, 1, role="branch", group_id=7, branch_index=n - 2) for n in (2, 3))

    assert tree_lines(*loops) == ["1", "box 7", "  2", "  3"]


def test_sub_agents_are_nested_below_the_calling_loop():
    loops = Loop(1), Loop(2, role="sub_agent"), continuing(3, 1)

    assert tree_lines(*loops, called={2: 1}, children={1: [70, 71]}) == [
        "1",
        "  child 70",
        "  child 71",
        "  2",
        "3",
    ]


def test_a_loop_that_is_its_own_parent_is_drawn_once():
    assert tree_lines(Loop(1), continuing(2, 2)) == ["1", "2"]


def test_loops_that_are_each_others_parents_are_drawn_once_each():
    assert sorted(tree_lines(continuing(1, 2), continuing(2, 1), continuing(3, 2, "Branch"))) == [
        "  3",
        "1",
        "2",
    ]


def test_a_parent_that_was_not_recorded_makes_a_root():
    assert tree_lines(continuing(1, 99), continuing(2, 98, "Branch")) == ["1", "2"]


def test_the_indent_stops_and_the_depth_goes_on():
    loops = Loop(1), *(continuing(n, n - 1, "Branch") for n in range(2, 61))

    steps = [mark for mark in marks(loops) if mark.what == "open"]

    assert [mark.node.key for mark in steps] == list(range(1, 61))
    assert max(mark.node.level for mark in steps) == DEEPEST
    assert [mark.node.depth for mark in steps] == list(range(1, 61))


def test_the_work_grows_linearly_with_the_number_of_loops():
    loops = [Loop(1)]
    loops += [continuing(n, n - (n % 60 or 1), "Branch" if n % 3 else "Default") for n in range(2, 5_001)]

    assert sum(mark.what == "open" for mark in marks(loops)) == 5_000
    assert count_calls(marks, loops) <= 3 * count_calls(marks, loops[:2_500])


def shown(loops, around, size):
    """Return the rows of a window, and the numbers of rows above and below."""
    nodes = build_tree(loops, judges={}, called={}, children={})
    found = window(nodes, list(rows(nodes)), around, size)
    return [mark.node.key for mark in found.marks if mark.what == "open"], found.earlier, found.later


@given(st.integers(1, 60), st.integers(1, 20), st.data())
def test_a_window_and_what_is_above_and_below_are_the_whole_tree(many, size, data):
    loops = [Loop(1)]
    for pk in range(2, many + 1):
        kind = data.draw(st.sampled_from(("Default", "Branch", "Rerun")))
        loops.append(continuing(pk, data.draw(st.integers(1, pk - 1)), kind))
    whole, around = shown(loops, 0, many)[0], data.draw(st.integers(0, many - 1))

    keys, earlier, later = shown(loops, around, size)

    assert whole[around] in keys
    assert [key for key in whole if key in keys] == keys
    assert earlier + len(keys) + later == many
    assert len(keys) <= size + DEEPEST


def test_a_window_keeps_the_ancestors_of_its_first_row():
    loops = [Loop(1), *(continuing(n, 1, "Branch") for n in range(2, 50))]

    assert shown(loops, 40, 4) == ([1, 39, 40, 41, 42], 37, 7)
