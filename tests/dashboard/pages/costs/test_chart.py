"""The geometry of the stacked bars."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from dashboard.pages.costs.chart import BOTTOM, TOP, Name, Series, chart
from dashboard.pages.costs.params import DAY, HOUR, Period

DOLLAR = 10**9
WEEK = Period(datetime(2026, 10, 28, tzinfo=UTC), DAY, 7)


def series(*values, key="a", css="c1"):
    return Series(Name(key, css), values + (0,) * (WEEK.count - len(values)))


def test_parts_are_stacked_from_the_axis_up():
    drawn = chart(WEEK, [series(50 * DOLLAR, css="c1"), series(50 * DOLLAR, css="c2")])

    low, high = drawn.bars[0].parts
    assert (low.css, high.css) == ("c1", "c2")
    assert low.y + low.height < BOTTOM
    assert high.y + high.height < low.y
    assert high.y == TOP


def test_grid_lines_are_at_round_amounts():
    drawn = chart(WEEK, [series(260 * DOLLAR)])

    assert [line.nano // DOLLAR for line in drawn.lines] == [0, 50, 100, 150, 200, 250, 300]
    assert (drawn.lines[0].y, drawn.lines[-1].y) == (BOTTOM, TOP)


def test_the_readout_lists_every_series_of_the_bar_and_the_total():
    drawn = chart(WEEK, [series(1, 2, key="a"), series(10, key="b")])

    first, second = drawn.bars[0], drawn.bars[1]
    assert [(row.series.name.label, row.nano) for row in first.rows] == [("a", 1), ("b", 10)]
    assert (first.total, second.total, drawn.total) == (11, 2, 13)
    assert (first.name, first.readout[0].series.name.label) == ("Wed 28 Oct", "b")


def test_a_series_that_cost_nothing_is_not_drawn():
    assert chart(WEEK, [series(), series(5, key="b")]).series == (series(5, key="b"),)


def test_a_period_without_cost_has_an_axis():
    drawn = chart(WEEK, [])

    assert [bar.total for bar in drawn.bars] == [0] * 7
    assert len(drawn.lines) == 2


def test_days_are_named_once_a_month_and_hours_once():
    assert [bar.label for bar in chart(WEEK, []).bars] == "28 Oct,29,30,31,1 Nov,2,3".split(",")
    hours = chart(Period(WEEK.start, HOUR, 3), []).bars
    assert [bar.label for bar in hours] == ["00:00", "01", "02"]
    assert hours[1].name == "28 Oct 01:00"


def test_weeks_are_named_by_their_first_day():
    first, second, *_ = chart(Period(WEEK.start, 7 * DAY, 13), []).bars

    assert (first.label, second.label, second.name) == ("28 Oct", "4 Nov", "Week from 4 Nov")


def test_a_narrow_chart_has_no_more_labels_than_fit():
    bars = chart(Period(WEEK.start, DAY, 30), []).bars

    assert sum(bool(bar.label) for bar in bars) == 30
    assert sum(bar.is_always_labelled for bar in bars) == 5


@given(st.lists(st.lists(st.integers(0, 2**62), min_size=7, max_size=7), max_size=12))
def test_no_bar_leaves_the_chart(values):
    drawn = chart(WEEK, [series(*each, key=str(n)) for n, each in enumerate(values)])

    assert drawn.total == sum(map(sum, values))
    assert len(drawn.lines) <= 7
    for bar in drawn.bars:
        for part in bar.parts:
            assert part.height > 0
            assert TOP - 1 < part.y < BOTTOM
