"""Geometry of points, labels and lines of the chart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.pages.leaderboard.chart import BOTTOM, LEFT, LINE, REACH, RIGHT, TICKS_MAX, TOP, Point, chart
from dashboard.shared.standings.statistics import Interval, wilson

COST = 10**7


def point(at, nano, wins=10, of=20):
    return Point(at, nano, wins / of, wilson(wins, of))


def test_without_points_there_is_no_chart():
    assert chart([]) is None


def test_higher_cost_is_further_right_and_a_better_rate_is_higher():
    drawn = chart([point(0, COST, 5), point(1, 2 * COST, 10), point(2, 4 * COST, 15)])
    marks = sorted(drawn.marks, key=lambda mark: mark.at)

    # On a logarithmic scale twice as dear is always the same way to go.
    assert marks[1].x - marks[0].x == pytest.approx(marks[2].x - marks[1].x, abs=0.02)
    assert marks[0].y > marks[1].y > marks[2].y
    assert all(mark.y_high < mark.y < mark.y_low for mark in marks)
    assert all(mark.is_front for mark in marks)


def test_the_step_line_follows_the_frontier_to_the_right_edge():
    drawn = chart([point(0, COST, 5), point(1, 2 * COST, 4), point(2, 4 * COST, 15)])
    at = {mark.at: mark for mark in drawn.marks}
    along, up, end = drawn.front

    assert not at[1].is_front
    assert (along.x1, along.y1, along.x2, along.y2) == (at[0].x, at[0].y, at[2].x, at[0].y)
    assert (up.x1, up.y1, up.y2) == (at[2].x, at[0].y, at[2].y)
    assert (end.x1, end.x2, end.y1) == (at[2].x, 100, at[2].y)


def test_a_cost_of_zero_makes_the_scale_linear():
    drawn = chart([point(0, 0), point(1, COST)])

    assert not drawn.is_log
    assert [mark.x for mark in drawn.marks if mark.at == 0] == [LEFT]
    assert drawn.across[0].label == "$0"


def test_a_lower_bound_is_drawn_and_is_never_on_the_frontier():
    drawn = chart([point(0, COST, 5), Point(1, COST // 2, 0.9, wilson(18, 20), is_bound=True)])
    priced, bound = sorted(drawn.marks, key=lambda mark: mark.at)

    assert (priced.is_front, bound.is_front, bound.is_bound) == (True, False, True)
    assert LEFT < bound.x < priced.x


def test_a_lower_bound_of_zero_keeps_the_scale_logarithmic_and_is_at_its_left_edge():
    drawn = chart([point(0, COST), Point(1, 0, 0.5, wilson(10, 20), is_bound=True)])

    assert drawn.is_log
    assert [mark.x for mark in drawn.marks if mark.at == 1] == [LEFT]


def test_lower_bounds_alone_have_no_frontier():
    drawn = chart([Point(0, 0, 0.5, wilson(10, 20), is_bound=True)])

    assert (len(drawn.marks), drawn.front) == (1, [])


@pytest.mark.parametrize("nano", [0, 1, COST, 10**18])
def test_one_config_alone_has_a_scale(nano):
    drawn = chart([point(0, nano)])

    assert LEFT <= drawn.marks[0].x <= RIGHT
    assert drawn.across


def test_amounts_on_the_axis_are_short():
    labels = [tick.label for tick in chart([point(0, 10**7), point(1, 10**10)]).across]

    assert labels == ["$0.01", "$0.1", "$1", "$10"]


POINTS = st.lists(st.tuples(st.integers(1, 10**15), st.integers(0, 40)), min_size=1, max_size=12).map(
    lambda found: [point(at, nano, wins, 40) for at, (nano, wins) in enumerate(found)]
)


@given(POINTS)
def test_points_stay_inside_and_labels_do_not_overlap(points):
    drawn = chart(points)

    for mark in drawn.marks:
        assert LEFT <= mark.x <= RIGHT
        assert TOP <= mark.y_high <= mark.y <= mark.y_low <= BOTTOM
    assert len(drawn.across) <= TICKS_MAX
    assert all(LEFT <= tick.place <= RIGHT for tick in drawn.across)
    for one in drawn.marks:
        for other in drawn.marks:
            if one is not other and abs(one.label_start - other.label_start) < REACH:
                assert abs(one.label_y - other.label_y) >= LINE


def test_a_whole_interval_fits():
    drawn = chart([Point(0, COST, 1.0, Interval(0.8, 1.0))])

    assert drawn.upwards[-1].value == 1
    assert drawn.marks[0].y == TOP


def test_a_label_right_of_its_point_avoids_one_that_is_left_of_another():
    drawn = chart(
        [point(0, 6_000, 6, 24), point(1, 11_200, 6, 24), point(2, 18_000, 6, 24), point(3, 30_000, 6, 24)]
    )
    right, left = drawn.marks[1], drawn.marks[2]

    assert (right.is_left, left.is_left) == (False, True)
    assert abs(right.label_y - left.label_y) >= LINE
