"""Cost as buckets times rates, and the selection of a price row."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from recorder.core.money.prices import Band, Price, Rates, cost, parse_reported_cost, price_at
from recorder.core.money.usage import Buckets

NOON = datetime(2026, 2, 11, 12, tzinfo=UTC)


def rates(input_="3", cache_read="0.3", cache_write="3.75", hour="6", output="15", reasoning=None):
    return Rates(*map(Decimal, (input_, cache_read, cache_write, hour, output, reasoning or output)))


def price(pk=1, *, is_own=False, edition="list 1", bands=None, **more):
    bands = (Band(0, rates()),) if bands is None else tuple(bands)
    return Price(pk, "m", "p", is_own, "" if is_own else edition, bands=bands, **more)


def test_a_call_costs_each_bucket_times_its_rate():
    call = Buckets(uncached=86, cache_read=17_817, cache_write=1_000, visible=212, reasoning=300)

    # 86 x 3 + 17,817 x 0.3 + 1,000 x 3.75 + 512 x 15 = 17,033.1 millionths of a dollar
    assert cost(call, price()) == 17_033_100


def test_one_hour_cache_writes_have_their_own_rate():
    assert cost(Buckets(cache_write=1_000, cache_write_1h=400), price()) == (600 * 3_750) + (400 * 6_000)


def test_a_large_request_pays_the_higher_rate_for_all_of_its_tokens():
    tiered = price(bands=(Band(0, rates()), Band(200_000, rates("6", "0.6", "7.5", "12", "22.5"))))

    assert cost(Buckets(uncached=100_000, cache_read=100_000, visible=10), tiered) == 330_150_000
    assert cost(Buckets(uncached=100_000, cache_read=100_001, visible=10), tiered) == 660_225_600


@pytest.mark.parametrize(("rate", "nano"), [("0.0005", 0), ("0.0015", 2), ("0.00051", 1), ("0.0025", 2)])
def test_half_a_nano_dollar_is_rounded_to_even_once_a_call(rate, nano):
    assert cost(Buckets(uncached=1), price(bands=[Band(0, rates(rate))])) == nano


def test_counts_as_large_as_the_wire_allows_are_multiplied_exactly():
    call = Buckets(uncached=2**53 - 1, visible=1)

    assert cost(call, price(bands=[Band(0, rates("0.123456789", output="0.001"))])) == round(
        (2**53 - 1) * 123_456_789 / Decimal(10**6) + 1
    )
    assert cost(call, price(bands=[Band(0, rates("1000000"))])) == 2**61  # as much as a column takes


def test_a_new_edition_applies_to_lines_recorded_after_it():
    old, new = price(1), price(2, edition="list 2", after_event=50)

    assert price_at([old, new], 50, NOON) is old
    assert price_at([old, new], 51, NOON) is new


def test_within_an_edition_the_last_entry_that_is_valid_applies():
    first = price(1)
    march = price(2, valid_from=datetime(2026, 3, 1, tzinfo=UTC))
    night = price(3, daily="16:30-00:30")

    assert price_at([first, march], 1, NOON) is first
    assert price_at([first, march], 1, datetime(2026, 3, 1, tzinfo=UTC)) is march
    assert price_at([first, night], 1, NOON) is first
    assert price_at([first, night], 1, NOON.replace(hour=23)) is night
    assert price_at([march], 1, NOON) is march  # before all entries the first one holds


def test_the_projects_own_price_precedes_lists_while_it_is_valid():
    listed = price(1, edition="list 9")
    own = price(2, is_own=True, valid_from=NOON, after_event=10, until_event=20)
    later = price(3, is_own=True, valid_from=NOON, after_event=12)

    assert price_at([listed, own], 11, NOON) is own
    assert price_at([listed, own, later], 13, NOON) is later
    assert price_at([listed, own], 11, NOON.replace(hour=11)) is listed
    assert price_at([listed, own], 10, NOON) is listed
    assert price_at([listed, own], 21, NOON) is listed


def test_a_model_that_is_not_listed_has_no_price():
    assert price_at([price(bands=())], 1, NOON) is None
    assert price_at([], 1, NOON) is None


@pytest.mark.parametrize(
    ("reported", "nano"),
    [
        (0.0206, 20_600_000),
        ("0.0206", 20_600_000),
        (0, 0),
        (3, 3_000_000_000),
        (-0.1, None),
        ("NaN", None),
        ("many", None),
        (True, None),
        (None, None),
        ({"usd": 1}, None),
        (1e300, None),
    ],
)
def test_a_reported_cost_is_parsed_if_it_is_a_plausible_amount(reported, nano):
    assert parse_reported_cost(reported) == nano
