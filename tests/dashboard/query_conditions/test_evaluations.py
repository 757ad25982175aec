"""Conditions on evaluations compare what branches and judge spent together."""

from datetime import UTC, datetime

import pytest

from dashboard.query_conditions.conditions import evaluation_condition
from dashboard.query_language import parse
from dashboard.shared.queries.costs import group_totals
from recorder.models import ParallelGroupRecord
from tests.dashboard.pages.evaluations.branches import branch, end, judge, loop_id, start
from tests.dashboard.pages.session.conftest import feed, project

__all__ = ["feed", "project"]
NOW = datetime(2100, 1, 1, tzinfo=UTC)


@pytest.fixture
def priced(feed):
    """Record a judged evaluation of $0.09, one by rule of $0.07, and one without any price."""
    for replies, costs in ((["1"], {1: 0.05, 2: 0.04}), ([], {1: 0.05, 2: 0.02}), ([], {})):
        heard = [event for reply in replies for event in judge(reply)]
        events = [start(1, 2), *branch(1, "One."), *branch(2, "Two."), *heard, end(1)]
        of = {loop_id(number): cost for number, cost in costs.items()}
        for event in events:
            if event["type"] == "TurnEnd" and costs:
                event["cost"] = of.get(event["loop_id"], 0)
            elif event["type"] == "TurnEnd":
                event["message"] |= {"model": "without-price", "provider": "unknown"}
        feed(*events)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("cost:>0", [0, 1]),
        ("cost:<1", [0, 1]),
        ("cost:>0.08", [0]),
        ("cost:0.07", [1]),
        ("-cost:>0", [2]),
        ("-cost:<1", [2]),
        ("input:>0", [0, 1, 2]),
        ("output:0", [0, 1, 2]),
        ("cache:0", [0, 1, 2]),
        ("-cache:0", []),
    ],
)
def test_costs_and_tokens_are_those_of_branches_and_judge(priced, project, query, expected):
    every = list(ParallelGroupRecord.objects.order_by("pk").values_list("pk", flat=True))
    assert matching(project, query) == [every[n] for n in expected]


def test_sums_are_those_that_are_shown(priced, project):
    for group in ParallelGroupRecord.objects.order_by("pk"):
        branches, judges = list(group.branches.all()), [group.judge] if group.judge else []
        loops = [*branches, *(judges or [group])]
        assert group.pk in matching(project, f"input:{sum(loop.input_tokens for loop in loops)}")
        tokens = sum(loop.input_tokens + loop.output_tokens for loop in loops)
        assert group.pk in matching(project, f"tokens:{tokens}")
        total = group_totals(branches, group.judge, group).total.cost_nano
        assert total is None or group.pk in matching(project, f"cost:{total / 1_000_000_000:.9f}")


def matching(project, query):
    found = ParallelGroupRecord.objects.filter(evaluation_condition(project.pk, parse(query), NOW))
    return list(found.order_by("pk").values_list("pk", flat=True))
