"""Ticks of chart axes are round, whatever the range."""

from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.rendering.axis_ticks import (
    APART,
    TIME_TICKS,
    Segment,
    amount_step,
    amounts_up_to,
    amounts_within,
    logarithmic_amounts,
    time_step,
    time_ticks,
)

AMOUNTS = st.integers(1, 10**18)
SMALL = {
    timedelta(**{unit: n})
    for unit, steps in {
        "seconds": (1, 2, 5, 10, 15, 30),
        "minutes": (1, 2, 5, 10, 15, 30),
        "hours": (1, 2, 3, 6, 12),
        "days": (1,),
    }.items()
    for n in steps
}
SEGMENTS = st.lists(
    st.tuples(st.floats(0, 10**5), st.floats(0.001, 10**5), st.floats(0.01, 100)), min_size=1, max_size=8
)


def is_round(number):
    digits = str(number).rstrip("0")
    return digits in ("1", "2", "5")


def is_round_time(time):
    micros, day = time // timedelta(microseconds=1), timedelta(days=1)
    if time < timedelta(seconds=1):
        return is_round(micros)
    return time in SMALL or (not time % day and is_round(time // day))


@given(AMOUNTS)
def test_a_step_is_round_and_less_than_two_and_a_half_times_its_bound(least):
    step = amount_step(least)

    assert is_round(step)
    assert least <= step < 2.5 * least + 1


@given(st.integers(1, 10**15))
def test_a_step_of_time_is_round(micros):
    step = time_step(micros)

    assert is_round_time(timedelta(microseconds=step))
    assert micros <= step <= 2.5 * micros + 1


@pytest.mark.parametrize(
    ("seconds", "step"),
    [(0.3, 0.5), (1.1, 2), (11, 15), (16, 30), (31, 60), (700, 900), (2_000, 3_600), (30_000, 43_200)],
)
def test_steps_of_time_are_those_of_a_clock(seconds, step):
    assert time_step(seconds * 1_000_000) == step * 1_000_000


@given(st.integers(0, 10**18), st.integers(1, 12))
def test_a_linear_axis_covers_its_largest_value_with_round_steps(highest, most):
    ticks = amounts_up_to(highest, most)

    assert ticks[0] == 0
    assert ticks[-2] < max(highest, 1) <= ticks[-1]
    assert len(ticks) <= most + 1
    assert len({after - before for before, after in pairwise(ticks)}) == 1
    assert is_round(ticks[1])


@given(AMOUNTS, AMOUNTS, st.integers(1, 12))
def test_ticks_within_a_range_are_multiples_of_a_round_step(one, other, most):
    low, high = sorted((one, other))
    ticks = amounts_within(low, high, most)
    steps = {after - before for before, after in pairwise(ticks)}

    assert all(low <= tick <= high for tick in ticks)
    assert len(ticks) <= most + 1
    assert len(steps) <= 1
    assert all(is_round(step) and tick % step == 0 for step in steps for tick in ticks)


@given(AMOUNTS, st.floats(1.1, 10**9))
def test_a_logarithmic_axis_has_few_ticks_in_its_range_and_one_at_least(low, times):
    ticks = logarithmic_amounts(low, low * times, 7)

    assert len(ticks) <= 7
    assert all(low <= tick <= low * times for tick in ticks)
    assert times < 10 or (ticks and all(is_round(tick) for tick in ticks))


@given(SEGMENTS)
def test_ticks_of_a_time_axis_are_round_inside_its_segments_and_apart(lengths):
    segments, start, x = [], 0.0, 0.0
    for pause, length, width in lengths:
        segments.append(Segment(start + pause, start + pause + length, x, x + width))
        start, x = start + pause + length, x + width
    ticks = time_ticks(segments, x)

    for tick in ticks:
        second = tick.time.total_seconds()
        assert any(
            segment.start - 1e-6 <= second <= segment.end + 1e-6
            and segment.x1 - 0.01 <= tick.x <= segment.x2 + 0.01
            for segment in segments
        )
    assert all(before.time < after.time for before, after in pairwise(ticks))
    assert all(after.x - before.x >= APART * x for before, after in pairwise(ticks))


@given(st.floats(0, 10**6), st.floats(0.001, 10**7))
def test_an_axis_without_pauses_has_even_ticks_at_multiples_of_a_round_step(start, length):
    ticks = time_ticks([Segment(start, start + length, 0, 100)], 100)
    steps = {after.time - before.time for before, after in pairwise(ticks)}

    assert 2 <= len(ticks) <= TIME_TICKS + 1
    assert len(steps) == 1
    assert all(is_round_time(step) and not tick.time % step for step in steps for tick in ticks)


def test_short_segments_far_apart_have_finer_ticks():
    segments = [Segment(n * 3_600 + 7, n * 3_600 + 12, 25 * n, 25 * n + 20) for n in range(4)]

    assert len(time_ticks(segments, 100)) >= 2


def test_a_moment_has_at_most_one_tick():
    assert time_ticks([], 100) == []
    assert len(time_ticks([Segment(0, 0, 0, 0)], 100)) == 1
