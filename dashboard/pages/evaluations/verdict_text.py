"""Sentences about the verdict of an evaluation: winner, how it was selected, its relative cost. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.rendering.number_format import duration, plural
from recorder.core.records import Verdict

EQUAL_RATIO = 1.05  # cost ratios below are called equal


@dataclass(frozen=True, slots=True)
class Standing:
    """Figures of one branch that the verdict text uses."""

    number: int
    label: str
    state: str
    cost: int | None
    tokens: int
    duration_ms: int | None


@dataclass(frozen=True, slots=True)
class Decision:
    """Outcome of a group. `winner` is the number of the selected branch; None if it was not recorded."""

    kind: Verdict
    status: str  # of the group
    winner: int | None
    named: Sequence[int]  # branch numbers in the judge's reply
    has_judge: bool


@dataclass(frozen=True, slots=True)
class Words:
    """The verdict in two sentences or more: `who` won, then `why` and at what cost."""

    who: str
    why: str = ""


def words(decision: Decision, branches: Sequence[Standing]) -> Words:
    """Return the text of a verdict."""
    winner = next((branch for branch in branches if branch.number == decision.winner), None)
    if decision.status != "completed":
        return _open(decision, branches)
    if winner is None:
        return Words("A branch that was not recorded was selected.")
    comparison = compared(winner, branches, is_rule=decision.kind == "rule")
    match decision.kind:
        case "judged":
            why = f"The judge named branch {winner.number}." if decision.has_judge else _JUDGE_NOT_RECORDED
            return Words(f"{winner.label} won.", f"{why} {comparison}")
        case "rule":
            return Words(f"{winner.label} was selected by a rule.", f"There was no judge. {comparison}")
        case _:
            return Words(
                "No win.",
                f"{_mismatch_text(decision)}, so {winner.label} was selected by a rule. {comparison}",
            )


_JUDGE_NOT_RECORDED = "A judge was paid for, but its loop was not recorded."


def _open(decision: Decision, branches: Sequence[Standing]) -> Words:
    count = plural(len(branches), "branch,branches")
    if decision.status == "aborted":
        return Words(
            "Ended without a selection.", f"The recording of {count} stopped before one was selected."
        )
    if decision.status == "stale":
        return Words("No winner yet.", f"The session of {count} is stale: no branch is selected.")
    open_ones = [branch for branch in branches if branch.state in ("pending", "running", "waiting")]
    if decision.has_judge:
        return Words("The judge is reading.", f"{count} wait for its verdict.")
    if not open_ones:
        return Words("All branches ended.", "No branch is selected yet.")
    pending = sum(branch.state == "pending" for branch in open_ones)
    counts = {
        "running": len(open_ones) - pending,
        "pending": pending,
        "ended": len(branches) - len(open_ones),
    }
    states = ", ".join(f"{number} {state}" for state, number in counts.items() if number)
    return Words("No winner yet.", f"Of {count}: {states}.")


def _mismatch_text(decision: Decision) -> str:
    if not decision.named:
        return "The judge's reply names no branch"
    return f"The judge's reply names branch {' and '.join(map(str, decision.named))}, not the one selected"


def compared(winner: Standing, branches: Sequence[Standing], *, is_rule: bool) -> str:
    """Compare cost and duration of the winner with the other branches."""
    others = [branch for branch in branches if branch is not winner and branch.state != "pending"]
    parts = [_price(winner, others, is_rule=is_rule), _time(winner, others)]
    sentence = " and ".join(filter(None, parts))
    return f"It {sentence}." if sentence else ""


def _price(winner: Standing, others: Sequence[Standing], *, is_rule: bool) -> str:
    costs = [branch.cost for branch in others]
    if winner.cost is None or None in costs or not costs:
        return _amount(winner.tokens, [branch.tokens for branch in others])
    priced = [cost for cost in costs if cost is not None]
    is_most_expensive = winner.cost > max(priced)
    if winner.cost <= min(priced):
        return "is the cheapest branch"
    times = f"cost {ratio(winner.cost, min(priced))} the cheapest branch"
    return (
        f"is the most expensive branch: it {times}"
        if is_most_expensive and (is_rule or len(priced) > 1)
        else times
    )


def _amount(own: int, others: Sequence[int]) -> str:
    least = min(others, default=0)
    if not own or not least:
        return ""
    return (
        "used the fewest tokens"
        if own <= least
        else f"used {ratio(own, least)} the fewest tokens of any other branch"
    )


def _time(winner: Standing, others: Sequence[Standing]) -> str:
    lengths = [branch.duration_ms for branch in others if branch.duration_ms is not None]
    if winner.duration_ms is None or not lengths:
        return ""
    delay = winner.duration_ms - min(lengths)
    return f"took {duration(delay)} longer than the fastest" if delay > 0 else "was the fastest"


def ratio(part: int, whole: int) -> str:
    """Return a ratio in words: "3.4 times", or "as much as" below EQUAL_RATIO."""
    times = part / whole if whole else 0
    if times < EQUAL_RATIO:
        return "as much as"
    return f"{times:,.0f} times" if times >= 9.95 else f"{times:.1f} times"
