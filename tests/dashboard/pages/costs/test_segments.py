"""The ledger's sums."""

from typing import get_args

import pytest

from dashboard.pages.costs.segments import WORDS, ledger
from dashboard.pages.costs.totals import UsageTotals
from recorder.core.records import Segment


def usage(nano, loops=1, **more):
    return UsageTotals(loops=loops, turns=loops, cost_nano=nano, **more)


def test_every_segment_has_a_label():
    assert set(WORDS) == set(get_args(Segment))


def test_the_overhead_is_cost_beyond_winners_over_cost_of_winners():
    shown = ledger({"winner": usage(100), "losers": usage(150, 2), "judge": usage(30), "single": usage(999)})

    assert shown.overhead == pytest.approx((100 + 150 + 30 - 100) / 100)
    assert shown.whole.cost_nano == 1279
    assert shown.whole.loops == 5
    assert shown.lost == pytest.approx(150 / 1279)
    assert shown.judged == pytest.approx(30 / 1279)


def test_without_a_price_there_is_no_ratio():
    assert ledger({"losers": usage(5)}).overhead is None
    assert ledger({"winner": usage(5), "losers": usage(5, unpriced=1)}).overhead is None
    assert ledger({"winner": usage(0), "losers": usage(5)}).overhead is None
    assert ledger({}).is_empty


def test_shares_are_of_the_total_cost():
    shown = ledger({"winner": usage(25), "single": usage(75), "reruns": usage(None, unpriced=1)})

    assert [(entry.segment, entry.share) for entry in shown.entries] == [
        ("single", 0.75),
        ("winner", 0.25),
        ("reruns", None),
    ]
