"""Findings: rounding and the median of durations."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorder.core.insights.findings import median, rounded

MS = st.integers(0, 10**9)


@pytest.mark.parametrize(
    ("ms", "shown"), [(0, 0), (7, 7), (99, 99), (104, 100), (105, 110), (995, 1000), (61_499, 61_000)]
)
def test_durations_are_rounded_to_two_digits(ms, shown):
    assert rounded(ms) == shown


@given(MS)
def test_rounding_is_close_and_idempotent(ms):
    assert abs(rounded(ms) - ms) <= ms * 0.05
    assert rounded(rounded(ms)) == rounded(ms)


@given(st.lists(MS, min_size=1))
def test_the_median_is_that_of_the_rounded_times(times):
    shown = sorted(map(rounded, times))

    assert median(Counter(shown)) == shown[(len(shown) - 1) // 2]


def test_without_times_there_is_no_median():
    assert median({}) is None
