"""Plain SQL: rows and timestamps are written as Django writes them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.db import connection
from hypothesis import example, given
from hypothesis import strategies as st

from recorder.database import sql

ZONES = st.sampled_from([UTC, timezone(timedelta(hours=-9, minutes=-30)), timezone(timedelta(hours=14))])
TIMES = st.datetimes(timezones=ZONES).filter(lambda time: 1 < time.year < 9999)


@pytest.mark.sqlite
@given(TIMES)
@example(datetime(2026, 2, 1, 3, 4, 5, 60, tzinfo=UTC))
@example(datetime(2026, 2, 1, 3, 4, 5, tzinfo=UTC))
def test_a_time_is_written_as_django_writes_it(time):
    assert sql.timestamp_encoder()(time) == connection.ops.adapt_datetimefield_value(time)


@pytest.mark.django_db
@pytest.mark.parametrize("number", [0, 1, 7, 8, 9, 64, 65, 137, 600])
@pytest.mark.parametrize("same", [{}, {"b": "%s", "c": None}])
def test_rows_are_inserted_whatever_their_number(number, same):
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE sample (a bigint, b varchar(9), c bigint)")
    varied = [name for name in "abc" if name not in same]
    rows = [{"a": at, "b": f"{at}", "c": None if at % 2 else at, **same} for at in range(number)]

    sql.insert_all("sample", same, varied, [row[name] for row in rows for name in varied])

    assert sql.read("SELECT a, b, c FROM sample ORDER BY a") == [tuple(row.values()) for row in rows]
