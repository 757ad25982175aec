"""Sums and rates."""

from types import SimpleNamespace

import pytest

from dashboard.pages.costs.figures import Figures
from dashboard.pages.costs.totals import UsageTotals, change, total


def test_sums_add_up_and_leave_out_what_has_no_price():
    both = total(
        [UsageTotals(loops=1, cost_nano=7), UsageTotals(loops=2, unpriced=3), UsageTotals(cost_nano=5)]
    )

    assert both == UsageTotals(loops=3, unpriced=3, cost_nano=12)
    assert total([UsageTotals(unpriced=1)]).cost_nano is None


def test_free_is_not_unpriced():
    assert total([UsageTotals(cost_nano=0), UsageTotals(unpriced=1)]).cost_nano == 0


def test_the_hit_rate_is_of_all_that_was_read():
    assert UsageTotals(uncached_tokens=9, cache_read_tokens=168, cache_write_tokens=31).hit_rate == 168 / 208
    assert UsageTotals(uncached_tokens=9).hit_rate is None


def test_rates_of_nothing_are_none():
    assert (UsageTotals().per_loop, UsageTotals().error_rate, UsageTotals().hit_rate) == (None, None, None)
    assert change(5, None) is None
    assert change(5, 0) is None
    assert change(6, 5) == 6 / 5 - 1


def test_a_fall_of_costs_has_a_minus_sign():
    period = SimpleNamespace(sum=UsageTotals(cost_nano=41), before=UsageTotals(cost_nano=100))
    assert Figures.change.fget(period) == "\N{MINUS SIGN}59%"


@pytest.mark.parametrize("now", [9_999, 10_000, 10_001])
def test_costs_that_hardly_change_have_no_change_of_zero(now):
    period = SimpleNamespace(sum=UsageTotals(cost_nano=now), before=UsageTotals(cost_nano=10_000))
    assert Figures.change.fget(period) == ""
