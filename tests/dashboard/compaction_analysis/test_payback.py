"""Net savings of a compaction, against the hand calculation in docs/reference/pages/compactions.md."""

from decimal import Decimal

from dashboard.compaction_analysis.payback import Call, payback
from recorder.core.money.prices import Band, Rates

# Dollars a million tokens.
SONNET = Rates(*(Decimal(each) for each in ("3", "0.30", "3.75", "6", "15", "15")))


def call(uncached, read=0, written=0, rates=SONNET, is_done=True):
    bands = (Band(0, rates),) if rates else ()
    state = "done" if is_done else "open"
    return Call(1, 1, 0, 1, None, None, uncached, read, written, 0, state, bands)


BEFORE = call(500, 10_000, 9_500)
AFTER = [call(1_000, 0, 5_000), call(500, 6_000, 3_500)]


def test_net_savings_equal_the_hand_calculation():
    found = payback([BEFORE], AFTER, 0)

    assert (found.calls, found.saved_each, found.saved) == (2, 14_000, 28_000)
    assert found.rate == Decimal("2006.25")  # 40,125,000 for 20,000 tokens
    assert found.saved_nano == 56_175_000
    assert (found.rebuilt, found.rebuilt_nano) == (3_000, 9_975_000)  # at 3,625 instead of 300
    assert found.net_nano == 46_200_000
    assert (found.after_calls, found.is_paid_back) == (1, True)


def test_the_cost_of_the_compaction_is_subtracted():
    found = payback([BEFORE], AFTER, 60_000_000)

    assert found.net_nano == -13_800_000
    assert (found.after_calls, found.is_paid_back) == (3, False)


def test_a_context_that_grew_saves_nothing_and_costs_nothing():
    found = payback([call(4_200)], [call(5_100)], 0)

    assert (found.saved_each, found.saved, found.net_nano, found.after_calls) == (-900, 0, 0, None)


def test_nothing_removed_saves_nothing_though_the_context_is_smaller():
    found = payback([BEFORE], AFTER, 60_000_000, has_effect=False)

    assert (found.saved, found.saved_nano, found.after_calls) == (0, 0, None)
    assert found.net_nano == -69_975_000  # the compaction and the cache


def test_unknown_values_stay_unknown():
    assert payback([], AFTER, 0).saved is None
    assert payback([call(None)], AFTER, 0).saved is None
    assert payback([BEFORE], [], 0).rebuilt is None
    assert payback([BEFORE], AFTER, None).net_nano is None
    unpriced = payback([call(500, 10_000, 9_500, rates=None)], AFTER, 0)
    assert (unpriced.saved, unpriced.saved_nano, unpriced.net_nano) == (28_000, None, None)


def test_a_running_call_or_one_without_counts_has_no_size():
    assert call(500, is_done=False).prompt is None
    assert call(0).prompt is None
    failed = payback([BEFORE, call(0)], [call(500, is_done=False), call(0), *AFTER], 0)
    assert (failed.calls, failed.saved_each, failed.net_nano) == (2, 14_000, 46_200_000)


def test_without_a_cache_nothing_is_rebuilt():
    found = payback([call(2_600)], [call(1_900)], 0)

    assert (found.rebuilt, found.rebuilt_nano, found.after_calls) == (0, 0, 0)
    assert found.net_nano == 700 * 3_000
