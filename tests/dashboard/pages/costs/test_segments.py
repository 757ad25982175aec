"""The ledger's sums."""

from typing import get_args

import pytest

from dashboard.pages.costs.segments import WORDS, ledger
from dashboard.pages.costs.totals import Sum
from recorder.core.records import Segment


def spent(nano, loops=1, **more):
    return Sum(loops=loops, turns=loops, cost_nano=nano, **more)


def test_every_segment_has_words():
    assert set(WORDS) == set(get_args(Segment))


def test_the_overhead_is_what_choosing_cost_over_what_was_chosen():
    shown = ledger({"winner": spent(100), "losers": spent(150, 2), "judge": spent(30), "single": spent(999)})

    assert shown.overhead == pytest.approx((100 + 150 + 30 - 100) / 100)
    assert shown.whole.cost_nano == 1279
    assert shown.whole.loops == 5
    assert shown.lost == pytest.approx(150 / 1279)
    assert shown.judged == pytest.approx(30 / 1279)


def test_without_a_price_there_is_no_ratio():
    assert ledger({"losers": spent(5)}).overhead is None
    assert ledger({"winner": spent(5), "losers": spent(5, unpriced=1)}).overhead is None
    assert ledger({"winner": spent(0), "losers": spent(5)}).overhead is None
    assert ledger({}).is_empty


def test_shares_are_of_all_that_was_spent():
    shown = ledger({"winner": spent(25), "single": spent(75), "reruns": spent(None, unpriced=1)})

    assert [(entry.segment, entry.share) for entry in shown.entries] == [
        ("single", 0.75),
        ("winner", 0.25),
        ("reruns", None),
    ]
