"""Snippets cut at the ranges of their matches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.pages.search_text.highlights import Part, parts


def test_a_match_and_the_text_around_it_are_parts():
    assert parts("an error here", [(3, 8)]) == (Part("an "), Part("error", is_match=True), Part(" here"))


@pytest.mark.parametrize(
    "ranges", [[(0, 2), (1, 3)], [(1, 3), (0, 2)], [(0, 3), (1, 2)], [(0, 9), (7, 9), (5, 1)]]
)
def test_ranges_that_overlap_or_leave_the_text_repeat_and_lose_nothing(ranges):
    found = parts("abc", ranges)

    assert "".join(part.text for part in found) == "abc"
    assert all(part.is_match for part in found)


@given(st.text(max_size=20), st.lists(st.tuples(st.integers(0, 25), st.integers(0, 25)), max_size=5))
def test_the_parts_joined_are_the_snippet(text, ranges):
    found = parts(text, ranges)

    assert "".join(part.text for part in found) == text
    assert all(part.text for part in found)
