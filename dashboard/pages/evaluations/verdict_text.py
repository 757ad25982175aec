"""The verdict of an evaluation in words: who was chosen, how, and at what price. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.rendering.number_format import duration, plural
from recorder.core.handlers.verdict import Verdict

ALIKE = 1.05  # a ratio below is no difference worth words


@dataclass(frozen=True, slots=True)
class Standing:
    """What the words need of one branch."""

    number: int
    label: str
    state: str
    cost: int | None
    tokens: int
    duration_ms: int | None


@dataclass(frozen=True, slots=True)
class Decision:
    """How a group came to its end. `winner` is the number of a branch that was recorded."""

    kind: Verdict
    status: str  # of the group
    winner: int | None
    named: Sequence[int]  # by the judge's reply
    has_judge: bool


@dataclass(frozen=True, slots=True)
class Words:
    """The verdict: first who, then why and how much."""

    who: str
    why: str = ""


def words(decision: Decision, branches: Sequence[Standing]) -> Words:
    """Say a verdict."""
    winner = next((branch for branch in branches if branch.number == decision.winner), None)
    if decision.status != "completed":
        return _open(decision, branches)
    if winner is None:
        return Words("A branch that was not recorded was selected.")
    beside = compared(winner, branches, is_rule=decision.kind == "rule")
    match decision.kind:
        case "judged":
            why = f"The judge named branch {winner.number}." if decision.has_judge else _UNSEEN
            return Words(f"{winner.label} won.", f"{why} {beside}")
        case "rule":
            return Words(f"{winner.label} was taken by a rule.", f"No judge was asked. {beside}")
        case _:
            return Words("No win.", f"{_misnamed(decision)}, so {winner.label} was taken by a rule. {beside}")


_UNSEEN = "A judge was paid for, but its loop was not recorded."


def _open(decision: Decision, branches: Sequence[Standing]) -> Words:
    count = plural(len(branches), "branch,branches")
    if decision.status == "aborted":
        return Words(
            "Ended without a choice.", f"The recording of {count} broke off before one was selected."
        )
    open_ones = [branch for branch in branches if branch.state in ("pending", "running", "waiting")]
    if decision.has_judge:
        return Words("The judge is reading.", f"{count} wait for its choice.")
    if not open_ones:
        return Words("All branches ended.", "None was selected yet.")
    pending = sum(branch.state == "pending" for branch in open_ones)
    counts = {
        "running": len(open_ones) - pending,
        "pending": pending,
        "ended": len(branches) - len(open_ones),
    }
    said = ", ".join(f"{number} {state}" for state, number in counts.items() if number)
    return Words("No winner yet.", f"Of {count}: {said}.")


def _misnamed(decision: Decision) -> str:
    if not decision.named:
        return "The judge's reply names no branch"
    return f"The judge's reply names branch {' and '.join(map(str, decision.named))}, not the one selected"


def compared(winner: Standing, branches: Sequence[Standing], *, is_rule: bool) -> str:
    """Say what the winner cost and how long it took beside the others."""
    others = [branch for branch in branches if branch is not winner and branch.state != "pending"]
    said = [_price(winner, others, is_rule=is_rule), _time(winner, others)]
    sentence = " and ".join(filter(None, said))
    return f"It {sentence}." if sentence else ""


def _price(winner: Standing, others: Sequence[Standing], *, is_rule: bool) -> str:
    costs = [branch.cost for branch in others]
    if winner.cost is None or None in costs or not costs:
        return _amount(winner.tokens, [branch.tokens for branch in others])
    known = [cost for cost in costs if cost is not None]
    is_dearest = winner.cost > max(known)
    if winner.cost <= min(known):
        return "is the cheapest branch"
    times = f"cost {ratio(winner.cost, min(known))} the cheapest branch"
    return f"is the dearest branch: it {times}" if is_dearest and (is_rule or len(known) > 1) else times


def _amount(mine: int, theirs: Sequence[int]) -> str:
    least = min(theirs, default=0)
    if not mine or not least:
        return ""
    return (
        "used the fewest tokens" if mine <= least else f"used {ratio(mine, least)} the tokens of the leanest"
    )


def _time(winner: Standing, others: Sequence[Standing]) -> str:
    lengths = [branch.duration_ms for branch in others if branch.duration_ms is not None]
    if winner.duration_ms is None or not lengths:
        return ""
    late = winner.duration_ms - min(lengths)
    return f"took {duration(late)} longer than the fastest" if late > 0 else "was the fastest"


def ratio(part: int, whole: int) -> str:
    """Return how many times one is the other: "3.4 times", "as much as" when they are alike."""
    times = part / whole if whole else 0
    if times < ALIKE:
        return "as much as"
    return f"{times:,.0f} times" if times >= 9.95 else f"{times:.1f} times"
