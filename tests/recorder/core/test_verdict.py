"""How a branch came to be selected."""

import pytest

from recorder.core.verdict import verdict


@pytest.mark.parametrize(
    ("ended", "selected", "reply", "judge_spent", "expected"),
    [
        (False, None, None, False, "none"),
        (False, None, "2", True, "none"),
        (True, 1, "2", True, "judged"),
        (True, 1, "Response 2 is best.", False, "judged"),
        (True, 0, None, True, "judged"),
        (True, 0, "Both are good.", True, "fallback"),
        (True, 0, "", True, "fallback"),
        (True, 1, "12", True, "fallback"),
        (True, None, "1", True, "fallback"),
        (True, 0, None, False, "rule"),
    ],
)
def test_the_verdict_follows_from_what_was_recorded(ended, selected, reply, judge_spent, expected):
    assert verdict(ended=ended, selected=selected, reply=reply, judge_spent=judge_spent) == expected
