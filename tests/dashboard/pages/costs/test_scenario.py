"""Scenario 03 by hand: three branches, a judge, and a loop that continues the winner.

In micro-dollars, at the prices below, dollars per million tokens: winner claude-opus-4-6 310 in, 420 out of
which 260 reasoning: 310 x 5 + 420 x 25 = 12,050 loser claude-haiku-4-5 330 + 470 in, 60 + 33 out: 800 x 1 +
93 x 5 = 1,265 loser gpt-4o 295 in of which 128 cached, 51 out: 167 x 2.5 + 128 x 1.25 + 510 = 1,087.5 judge
claude-sonnet-4-6 640 in, 5 out: 640 x 3 + 5 x 15 = 1,995 single claude-opus-4-6 520 in, 22 out: 520 x 5 + 22
x 25 = 3,150
"""

from datetime import UTC, datetime

import pytest

from dashboard.pages.costs.params import CostsParams
from dashboard.pages.costs.queries import page
from tests.phi_core import scenarios

PRICES = {
    ("claude-opus-4-6", "anthropic"): {"input": "5", "output": "25"},
    ("claude-haiku-4-5", "anthropic"): {"input": "1", "output": "5"},
    ("gpt-4o", "openai"): {"input": "2.5", "output": "10", "cache_read": "1.25"},
    ("claude-sonnet-4-6", "anthropic"): {"input": "3", "output": "15"},
}
BY_HAND = {  # segment: loops, turns, tokens, nano-dollars
    "single": (1, 1, 542, 3_150_000),
    "winner": (1, 1, 730, 12_050_000),
    "losers": (2, 3, 893 + 346, 1_265_000 + 1_087_500),
    "judge": (1, 1, 645, 1_995_000),
}
EVENING = datetime(2026, 11, 20, 20, tzinfo=UTC)


@pytest.fixture
def figures(client, see, feed, project):
    """Return the figures of the scenario; the page's own form sets the prices."""
    for (model, provider), rates in PRICES.items():
        client.post("/p/default/costs/prices", {"model": model, "provider": provider, **rates})
    feed(*scenarios.events(scenarios.tape("03")))
    return lambda **asked: page(project, CostsParams(**asked), EVENING).figures


def test_every_segment_equals_the_hand_calculation(figures):
    ledger = figures().ledger

    assert {
        entry.segment: (entry.sum.loops, entry.sum.turns, entry.sum.tokens, entry.sum.cost_nano)
        for entry in ledger.entries
    } == BY_HAND


def test_the_overhead_is_that_of_its_group(figures):
    ledger = figures().ledger

    assert ledger.overhead == pytest.approx((2_352_500 + 1_995_000) / 12_050_000)
    assert ledger.whole.cost_nano == 19_547_500
    assert ledger.lost == pytest.approx(2_352_500 / 19_547_500)


@pytest.mark.parametrize("by", ["config", "model", "agent", "session"])
@pytest.mark.parametrize("since", ["24h", "14d"])
def test_every_grouping_adds_up_to_the_same_total(figures, by, since):
    shown = figures(by=by, since=since)

    assert shown.sum.cost_nano == 19_547_500
    assert sum(row.sum.cost_nano or 0 for row in shown.rows) == 19_547_500
    assert sum(bar.total for bar in shown.chart.bars) == 19_547_500
    assert {entry.segment: entry.sum.cost_nano for entry in shown.ledger.entries} == {
        segment: nano for segment, (_, _, _, nano) in BY_HAND.items()
    }


def test_the_judge_can_be_left_out(figures):
    assert figures(judge=False).sum.cost_nano == 19_547_500 - 1_995_000
    assert figures(judge=False, by="session").sum.cost_nano == 19_547_500 - 1_995_000
