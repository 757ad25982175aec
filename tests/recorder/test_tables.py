"""How records lie in their tables: each value as Django has it there."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.db import connection
from hypothesis import example, given
from hypothesis import strategies as st

from recorder import tables

ZONES = st.sampled_from([UTC, timezone(timedelta(hours=-9, minutes=-30)), timezone(timedelta(hours=14))])
TIMES = st.datetimes(timezones=ZONES).filter(lambda time: 1 < time.year < 9999)


@pytest.mark.sqlite
@given(TIMES)
@example(datetime(2026, 2, 1, 3, 4, 5, 60, tzinfo=UTC))
@example(datetime(2026, 2, 1, 3, 4, 5, tzinfo=UTC))
def test_a_time_is_written_as_django_writes_it(time):
    assert tables.moment()(time) == connection.ops.adapt_datetimefield_value(time)
