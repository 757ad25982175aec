"""How a branch was selected."""

import pytest

from recorder.core.handlers.verdict import named_branches, verdict


@pytest.mark.parametrize(
    ("reply", "names"),
    [
        ("2", [2]),
        ("Response 2 is best.", [2]),
        ("3, because 1 and 2 do not answer; 3 does.", [1, 2, 3]),
        ("12", []),
        ("0", []),
        ("Both are good.", []),
        ("", []),
    ],
)
def test_a_reply_names_the_branches_whose_numbers_it_contains(reply, names):
    assert named_branches(reply, branches=3) == names


@pytest.mark.parametrize(
    ("selected", "names", "judge_used_tokens", "expected"),
    [
        (1, [2], True, "judged"),
        (1, [2], False, "judged"),
        (0, None, True, "judged"),
        (0, [], True, "fallback"),
        (1, [1], True, "fallback"),
        (None, [1], True, "fallback"),
        (0, None, False, "rule"),
    ],
)
def test_the_verdict_follows_from_the_selection_and_the_reply(selected, names, judge_used_tokens, expected):
    assert verdict(selected=selected, names=names, judge_used_tokens=judge_used_tokens) == expected
