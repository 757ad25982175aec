"""The line of an insight: what was found, how sure it is, what to do."""

import pytest

from dashboard.pages.insights import advice
from dashboard.pages.insights.params import KINDS


def test_a_solution_says_its_cases_and_what_to_do():
    assert advice.line("solution", times=1, worked=1, loops=1) == (
        "Error with a solution: 1 case in 1 loop, 100% worked, weak evidence. "
        "Put the steps into the agent's instructions, or correct the tool's default."
    )


def test_a_fact_counts_its_loops():
    assert advice.line("fact", times=0, worked=0, loops=12).startswith(
        "Fact from conversations: stated in 12 loops, strong evidence. Check it"
    )


@pytest.mark.parametrize(("cases", "word"), [(2, "weak"), (3, "moderate"), (9, "moderate"), (10, "strong")])
def test_more_cases_are_stronger_evidence(cases, word):
    assert advice.evidence(cases) == f"{word} evidence"


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind])
def test_every_kind_has_a_line(kind):
    assert advice.FOUND[kind] in advice.line(kind, times=3, worked=2, loops=3)
