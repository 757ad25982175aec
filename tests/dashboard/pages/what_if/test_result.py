"""The result of What if: what is left out, and reasons that are shown once."""

from types import SimpleNamespace

import pytest
from django.template.loader import render_to_string

from dashboard.shared.what_if.desk import Reason, WhatIfRow
from recorder.core.ledger.what_if import Figure


def words(template, **context):
    text = render_to_string(template, context)
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("unpriced", "unreconciled", "cost_nano", "left_out"),
    [
        (6, 0, 0, "Left out: 6 calls without a price."),
        (0, 1, 2_000_000_000, "Left out ($2.00): 1 call with unknown or contradictory counts."),
        (1, 2, 0, "Left out: 1 call without a price and 2 calls with unknown or contradictory counts."),
    ],
)
def test_only_calls_that_exist_are_named_as_left_out(unpriced, unreconciled, cost_nano, left_out):
    calls = SimpleNamespace(unpriced=unpriced, unreconciled=unreconciled, left_out_nano=cost_nano)

    assert left_out in words("what_if/left_out.html", calls=calls)


def test_reasons_that_are_those_of_the_model_above_are_not_repeated():
    same, other = [Reason("exact", "At the rates.")], [Reason("exact", "It answered every call.")]
    reasons = {"a": same, "b": same, "c": other}
    lines = [WhatIfRow("model", name, Figure(), why) for name, why in reasons.items()]

    shown = words("what_if/figures.html", title="Model", lines=lines)

    assert shown.count("At the rates.") == 1
    assert shown.count("as above") == 1
    assert shown.index("At the rates.") < shown.index("as above") < shown.index("It answered every call.")
