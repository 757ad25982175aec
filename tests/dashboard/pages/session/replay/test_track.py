"""The replay track: events in recorded order, spaced by time, with idle time limited."""

import itertools
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from dashboard.pages.session.replay.track import IDLE, STOPS, WIDTH, LoopSpan, TrackEvent, layout, positions

NINE = datetime(2026, 2, 11, 9, tzinfo=UTC)


def at(*seconds):
    return [NINE + timedelta(seconds=each) for each in seconds]


def test_time_spaces_events_and_an_idle_hour_counts_as_a_minute():
    x = positions(at(0, 60, 60 + 3600, 60 + 3600 + 60))
    steps = [round(b - a, 6) for a, b in itertools.pairwise(x)]
    assert steps == [steps[0]] * 3
    assert x[0] == 0
    assert x[-1] == WIDTH


def test_events_with_equal_times_have_equal_distances():
    assert [round(x, 6) for x in positions(at(*[5] * 11))] == [round(100.0 * n, 6) for n in range(11)]


@given(st.lists(st.integers(-(10**9), 10**9), max_size=60))
def test_each_event_is_right_of_the_previous_one_for_any_timestamps(seconds):
    x = positions(at(*seconds))
    assert len(x) == len(seconds)
    assert all(a < b for a, b in itertools.pairwise(x))
    assert all(0 <= each <= WIDTH for each in x)


def test_a_clock_that_jumps_to_another_century_takes_a_minute():
    x = positions([NINE, NINE + timedelta(days=40_000), *at(1, 61)])
    assert x[1] - x[0] <= WIDTH * 0.55
    assert timedelta(minutes=1) == IDLE


def test_overlapping_loops_have_lanes_and_losers_are_dimmed():
    events = [TrackEvent(n, each) for n, each in enumerate(at(*range(11)))]
    bars = layout(events, [LoopSpan(0, 5, 1), LoopSpan(2, 8, 3, is_lost=True), LoopSpan(6, None, 2)]).bars
    assert [(bar.css, bar.y) for bar in bars] == [
        ("config-1", 24),
        ("config-3 is-dimmed", 28),
        ("config-2", 24),
    ]
    assert [(bar.x, bar.x + bar.width) for bar in bars] == [(0, 500), (200, 800), (600, 1000)]


def test_loops_too_close_to_distinguish_are_merged_into_one_bar():
    events = [TrackEvent(n, each) for n, each in enumerate(at(*range(10_000)))]
    chain = [LoopSpan(2 * n, 2 * n + 1, 1) for n in range(5_000)]
    [bar] = layout(events, chain).bars
    assert (bar.x, bar.width) == (0, WIDTH)

    mixed = [LoopSpan(2 * n, 2 * n + 1, 1 + n % 2) for n in range(5_000)]
    assert 100 < len(layout(events, mixed).bars) < 400
    nested = [LoopSpan(n, 9_999, 1 + n % 3) for n in range(5_000)]
    assert len(layout(events, nested).bars) < 1_000

    apart = [LoopSpan(0, 3_000, 1), LoopSpan(3_200, 6_000, 1)]
    assert len(layout(events, apart).bars) == 2


def test_important_ticks_are_tall_and_drawn_last():
    events = [
        TrackEvent(n, each, kind)
        for n, (each, kind) in enumerate(zip(at(0, 1, 2), ("error", "turn", ""), strict=True))
    ]
    assert layout(events, []).ticks == [("turn", "M500 44v6"), ("error", "M0 38v12")]


def test_a_long_session_keeps_its_marks_and_its_size():
    events = [
        TrackEvent(n, each, "tool" if n % 100 == 7 else "") for n, each in enumerate(at(*range(20_000)))
    ]
    shown = layout(events, [])
    assert len(shown.stops) <= STOPS + 200
    assert {stop.event for stop in shown.stops} >= {each.event for each in events if each.kind}
    assert shown.stops[-1].event == events[-1].event
    assert len(shown.density) < 6_000


def test_a_session_without_events_has_an_empty_track():
    shown = layout([], [])
    assert (shown.stops, shown.bars, shown.ticks, shown.density, shown.time_ticks) == ([], [], [], "", [])
