"""Cursors of keyset pages."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.web.keyset import COST_MAX, RECORDED, Cursor, Order

ORDERS = {"moment": Order("last_event_at"), "cost": Order("cost_nano"), "recorded": RECORDED}
PLACES = {
    "moment": st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC)),  # noqa: DTZ001  UTC is added
    "cost": st.integers(-1, COST_MAX),
    "recorded": st.none(),
}


@pytest.mark.parametrize("by", ORDERS)
@given(st.data(), st.integers(0, 10**18 - 1))
def test_a_cursor_round_trips_through_its_order(by, data, pk):
    cursor = Cursor(data.draw(PLACES[by]), pk)

    assert ORDERS[by].parse(str(cursor)) == cursor
    for other in ORDERS.keys() - {by}:
        with pytest.raises(ValueError, match="not a"):
            ORDERS[other].parse(str(cursor))


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize(
    "text",
    [
        *("", "-", "1-", "-1", "a-b", "1-1-1", "²-1", "²", "9" * 18 + "-1", "1-" + "9" * 19, "9" * 19),
        *("c-2-1", f"c{COST_MAX + 1}-1", "c1", "c-1"),
    ],
)
def test_other_text_is_not_a_cursor(order, text):
    with pytest.raises(ValueError, match="not a"):
        order.parse(text)
