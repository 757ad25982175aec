"""Cursors of keyset pages."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.keyset import Cursor


@given(
    st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC)),  # noqa: DTZ001  UTC is added
    st.integers(0, 10**18 - 1),
)
def test_a_cursor_is_read_as_it_was_written(at, pk):
    assert Cursor.parse(str(Cursor(at, pk))) == Cursor(at, pk)


@pytest.mark.parametrize(
    "text", ["", "1", "-", "1-", "-1", "a-b", "1-1-1", "²-1", "9" * 18 + "-1", "1-" + "9" * 19]
)
def test_anything_else_is_no_cursor(text):
    with pytest.raises(ValueError, match="not a cursor"):
        Cursor.parse(text)
