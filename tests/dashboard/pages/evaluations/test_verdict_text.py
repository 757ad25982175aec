"""The text of the verdict."""

import pytest

from dashboard.pages.evaluations.verdict_text import Decision, Standing, words


def standing(number, cost=None, tokens=100, seconds=10, state="completed"):
    return Standing(number, f"model-{number}", state, cost, tokens, seconds * 1_000)


def verdict(kind, winner, *branches, status="completed", named=(), has_judge=True):
    decision = Decision(kind, status, winner, named, has_judge)
    found = words(decision, branches)
    return f"{found.who} {found.why}".strip()


@pytest.mark.parametrize(
    ("branches", "expected"),
    [
        (
            [standing(1, 340), standing(2, 100, seconds=6)],
            "It cost 3.4 times the cheapest branch and took 4.0s longer than the fastest.",
        ),
        ([standing(1, 100), standing(2, 340)], "It is the cheapest branch and was the fastest."),
        (
            [standing(1, 300), standing(2, 100), standing(3, 200)],
            "It is the most expensive branch: it cost 3.0 times the cheapest branch and was the fastest.",
        ),
        (
            [standing(1, 12_000_000), standing(2, 1)],
            "It cost 12,000,000 times the cheapest branch and was the fastest.",
        ),
        (
            [standing(1, 100), standing(2, None, tokens=50)],
            "It used 2.0 times the fewest tokens of any other branch and was the fastest.",
        ),
        ([standing(1, None, tokens=0), standing(2, 5)], "It was the fastest."),
        ([standing(1, 100)], ""),
        ([standing(1, 100), standing(2, 0, tokens=0, state="pending")], ""),
    ],
)
def test_a_winner_is_compared_with_the_others(branches, expected):
    assert verdict("judged", 1, *branches) == f"model-1 won. The judge named branch 1. {expected}".strip()


def test_a_rule_that_selected_the_more_expensive_of_two_says_so():
    found = verdict("rule", 1, standing(1, 200), standing(2, 100), has_judge=False)
    assert found.startswith(
        "model-1 was selected by a rule. There was no judge. It is the most expensive branch: "
        "it cost 2.0 times"
    )


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ((), "The judge's reply names no branch, so model-1 was selected by a rule."),
        ((2,), "The judge's reply names branch 2, not the one selected, so model-1 was selected by a rule."),
    ],
)
def test_a_fallback_is_not_a_win(named, why):
    assert verdict("fallback", 1, standing(1), standing(2), named=named).startswith(f"No win. {why}")


def test_missing_records_are_reported():
    both = standing(1), standing(2)
    assert "A judge was paid for, but its loop was not recorded." in verdict(
        "judged", 1, *both, has_judge=False
    )
    assert verdict("judged", None, *both) == "A branch that was not recorded was selected."
    assert verdict("none", None, *both, status="aborted").startswith("Ended without a selection.")
