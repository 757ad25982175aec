"""The time axis: busy time is proportional, long pauses are folded."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.pages.session.timeline.axis import GAP, Span, axis, path
from dashboard.rendering.axis_ticks import TimeTick

NINE = datetime(2026, 2, 11, 9, tzinfo=UTC)


def span(start, end):
    return Span(NINE + timedelta(seconds=start), NINE + timedelta(seconds=end))


def at(line, seconds):
    return line.at(NINE + timedelta(seconds=seconds))


def test_busy_time_is_proportional():
    line = axis([span(0, 10), span(5, 30), span(40, 50)])
    assert [round(at(line, seconds), 6) for seconds in (0, 5, 10, 25, 40, 50)] == [0, 10, 20, 50, 80, 100]
    assert line.gaps == []


def test_an_idle_hour_is_folded_and_keeps_its_length():
    line = axis([span(0, 60), span(3660, 3720)])
    (gap,) = line.gaps
    assert gap.length == timedelta(hours=1)
    assert (round(gap.x, 6), gap.width) == ((100 - GAP) / 2, GAP)
    assert at(line, 3660) == pytest.approx(50 + GAP / 2)


def test_idle_time_is_proportional_without_folding():
    line = axis([span(0, 60), span(3660, 3720)], folds=False)
    assert line.gaps == []
    assert at(line, 60) == pytest.approx(100 * 60 / 3720)


def test_a_window_of_an_axis_is_an_axis():
    line = axis([span(0, 100)], window=span(25, 75))
    assert [at(line, seconds) for seconds in (0, 25, 50, 75, 100)] == [0, 0, 50, 100, 100]
    assert line.moment(50) == NINE + timedelta(seconds=50)


@given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 10**5)), min_size=1, max_size=30))
def test_positions_are_monotonic_and_end_at_a_hundred(times):
    spans = [span(start, start + length) for start, length in times]
    line = axis(spans)
    moments = sorted(moment for each in spans for moment in (each.start, each.end))
    places = [line.at(moment) for moment in moments]
    assert places == sorted(places)
    assert places[0] == 0
    assert -1e-6 <= places[-1] <= 100 + 1e-6


def test_no_spans_have_no_axis_and_a_moment_has_one():
    assert axis([]) is None
    line = axis([span(5, 5)])
    assert (at(line, 5), line.ticks(NINE)) == (0, [TimeTick(0, timedelta(seconds=5))])


def test_ticks_are_at_round_times_outside_of_folded_pauses():
    line = axis([span(0, 40), span(4_000, 4_050)])
    ticks = line.ticks(NINE)

    assert [tick.time.total_seconds() for tick in ticks] == [0, 15, 30, 4_005, 4_020, 4_035, 4_050]
    assert [tick.x for tick in ticks] == pytest.approx(
        [at(line, tick.time.total_seconds()) for tick in ticks]
    )


def test_touching_bars_are_merged_and_have_a_minimum_width():
    line = axis([span(0, 1000)])
    drawn = path([span(0, 100), span(100.5, 200), span(500, 500)], line, y=5, height=10)
    boxes = [(float(x), float(width)) for x, width in re.findall(r"M([\d.]+) 5h([\d.]+)v10", drawn)]
    assert boxes == [(0, 200), (500, 2.5)]
