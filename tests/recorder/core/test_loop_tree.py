"""Depth-first order of the loops of a session."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from recorder.core.loop_tree import tree_order


@dataclass
class Place:
    id: int
    parent_id: int | None = None
    group_id: int | None = None
    branch_index: int | None = None


def ids(*loops: Place) -> list[int]:
    return [loop.id for loop in tree_order(loops)]


def test_a_loop_follows_its_parent_and_precedes_its_parents_next_sibling():
    assert ids(Place(1), Place(2), Place(3, 1), Place(4, 3), Place(5, 1)) == [1, 3, 4, 5, 2]


def test_branches_are_adjacent_in_config_order_and_the_judge_follows():
    first, late = Place(1, group_id=7, branch_index=0), Place(5, group_id=7, branch_index=1)
    assert ids(Place(4), late, first, Place(2)) == [1, 5, 2, 4]


def test_a_parent_in_another_session_counts_as_none():
    assert ids(Place(2, 99), Place(1)) == [1, 2]


def test_loops_of_a_cycle_come_last_and_once():
    assert ids(Place(1, 2), Place(2, 1), Place(3, 3), Place(4)) == [3, 4, 1, 2]


@given(st.lists(st.integers(1, 30) | st.none(), max_size=30))
def test_every_loop_appears_exactly_once(parents):
    loops = [Place(i + 1, parent) for i, parent in enumerate(parents)]
    assert sorted(ids(*loops)) == [loop.id for loop in loops]


def test_a_chain_of_ten_thousand_continuations_is_ordered():
    assert ids(*(Place(i, i - 1 or None) for i in range(1, 10_001))) == list(range(1, 10_001))
