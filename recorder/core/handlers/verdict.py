"""The selection of a branch of a parallel group: inferred from the judge's reply, as no event states it."""

import re
from collections.abc import Collection

from recorder.core.records import Verdict

NUMBER = re.compile(r"\d{1,6}", re.ASCII)


def named_branches(reply: str, branches: int) -> list[int]:
    """Return the branches that a judge's reply names, counted from 1, ascending.

    phi-core asks for the number of the best response and selects a branch by rule if the reply has none.
    """
    return sorted({number for text in NUMBER.findall(reply) if 1 <= (number := int(text)) <= branches})


def verdict(*, selected: int | None, names: Collection[int] | None, judge_used_tokens: bool) -> Verdict:
    """Return how the branch with index `selected` was selected.

    `names` are the branches that the judge's reply names, counted from 1; None without a recorded judge loop.
    """
    if names is None:
        return "judged" if judge_used_tokens else "rule"
    return "judged" if selected is not None and selected + 1 in names else "fallback"
