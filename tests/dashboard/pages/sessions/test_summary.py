"""Totals and sparklines above the list."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from dashboard.pages.sessions.summary import BUCKETS, LoopFigures, lines, percentile, totals

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def loop(start_s, length_s=10, session=1, tokens=5):
    started = NOW - timedelta(seconds=start_s)
    ended = None if length_s is None else started + timedelta(seconds=length_s)
    length_ms = None if length_s is None else max(0, length_s * 1_000)
    return LoopFigures(session, started, ended, tokens, length_ms)


def test_a_percentile_is_a_duration_that_occurred():
    lengths = list(range(1, 101))
    assert percentile(lengths, 95) == 95
    assert percentile(lengths[:1], 95) == 1
    assert percentile([], 50) is None


def test_open_loops_are_counted_without_a_duration():
    found = totals([None, 8_000])
    assert (found.loops, found.p50, found.p95) == (2, 8_000, 8_000)


def test_without_loops_there_is_no_percentile_and_no_sparkline():
    assert totals([]).p95 is None
    assert lines([], None, NOW).tokens == ()


def test_a_sparkline_has_its_values_at_the_times_of_the_loops():
    day = timedelta(days=1)
    drawn = lines(
        [loop(86_000), loop(85_900), loop(100, session=2), loop(90, None, session=2)], NOW - day, NOW
    )
    assert (drawn.tokens[0], sum(drawn.tokens)) == (10, 15)
    assert (drawn.sessions[0], drawn.sessions[-1], drawn.running[-1]) == (1, 1, 1)


def test_loops_outside_of_the_time_range_are_not_drawn():
    day = timedelta(days=1)
    assert lines([loop(10**7 + n) for n in range(9)], NOW - day, NOW).tokens == ()


@given(st.lists(st.tuples(st.integers(-(10**6), 10**8), st.integers(-100, 10**6) | st.none()), max_size=40))
def test_any_times_give_valid_sparklines(spans):
    drawn = lines([loop(start, length) for start, length in spans], None, NOW)
    assert {len(line) for line in (drawn.running, drawn.sessions, drawn.tokens, drawn.length)} <= {0, BUCKETS}
