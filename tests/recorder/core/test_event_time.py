"""The time of an event: that on the wire, its arrival, or what follows from the event before it."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from recorder.core.event_time import FOLLOWED, happened_without_time

NOW = datetime(2026, 11, 4, 15, 30, tzinfo=UTC)
BEFORE = st.timedeltas(timedelta(), timedelta(days=400))


def test_an_event_without_a_time_happened_as_long_after_the_one_before_it_as_it_arrived_after_it():
    minute = timedelta(minutes=1)
    assert happened_without_time(NOW - 40 * minute, NOW - 40 * minute, NOW) == NOW
    assert happened_without_time(NOW - 41 * minute, NOW - 40 * minute, NOW) == NOW - minute


def test_an_import_stays_as_old_as_its_events():
    february = datetime(2026, 2, 11, 9, tzinfo=UTC)
    assert happened_without_time(february, NOW, NOW) == february
    assert happened_without_time(february, NOW - timedelta(seconds=20), NOW) == february


def test_after_a_day_of_silence_it_happened_when_the_event_before_it_did():
    before = NOW - FOLLOWED
    assert happened_without_time(before, before, NOW) == NOW
    assert happened_without_time(before, before, NOW + timedelta(seconds=1)) == before


@given(BEFORE, BEFORE)
def test_it_never_happened_before_that_event_nor_after_its_own_arrival(happened, received):
    last = NOW - happened
    at = happened_without_time(last, NOW - received, NOW)
    assert last <= at <= NOW
