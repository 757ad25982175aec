"""How a branch of a parallel group was selected. The strategy is not on the wire; the judge's reply tells."""

import re
from typing import Literal

Verdict = Literal["judged", "rule", "fallback", "none"]
NUMBER = re.compile(r"\d{1,6}", re.ASCII)


def verdict(*, ended: bool, selected: int | None, reply: str | None, judge_spent: bool) -> Verdict:
    """Return how the branch at `selected` won.

    `reply` is the judge's answer, None when no judge loop was recorded. phi-core asks it for the number of
    the best response, counted from 1; of an answer without one it takes a branch by its own rule.
    """
    if not ended:
        return "none"
    if reply is None:
        return "judged" if judge_spent else "rule"
    named = {int(number) for number in NUMBER.findall(reply)}
    return "judged" if selected is not None and selected + 1 in named else "fallback"
