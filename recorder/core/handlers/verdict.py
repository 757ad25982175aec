"""How a branch of a parallel group was selected. The strategy is not on the wire; the judge's reply tells."""

import re
from collections.abc import Collection
from typing import Literal

Verdict = Literal["judged", "rule", "fallback", "none"]
NUMBER = re.compile(r"\d{1,6}", re.ASCII)


def named_branches(reply: str, branches: int) -> list[int]:
    """Return the branches that a judge's reply names, counted from 1.

    phi-core asks for the number of the best response; of a reply without one it takes a branch by rule.
    """
    return sorted({number for text in NUMBER.findall(reply) if 1 <= (number := int(text)) <= branches})


def verdict(*, selected: int | None, names: Collection[int] | None, judge_spent: bool) -> Verdict:
    """Return how the branch at `selected` won a group that ended.

    `names` are the branches that the judge's reply names, None when no judge loop was recorded.
    """
    if names is None:
        return "judged" if judge_spent else "rule"
    return "judged" if selected is not None and selected + 1 in names else "fallback"
