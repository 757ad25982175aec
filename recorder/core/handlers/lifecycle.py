"""How a loop may go from status to status, and what its end means."""

from __future__ import annotations

from recorder.core.events import AgentEnd
from recorder.core.records import Outcome, Status

TRANSITIONS: dict[Status, frozenset[Status]] = {
    "pending": frozenset(("running",)),
    "running": frozenset(("completed", "rejected", "aborted")),
    "completed": frozenset(),
    "rejected": frozenset(),
    "aborted": frozenset(),
}
CANCELLED = "Cancelled"  # phi-core's error message when a person stopped the loop
_BY_STOP: dict[str, Outcome] = {
    "maxTurns": "limit",
    "aborted": "cancelled",
    "userStop": "cancelled",
    "error": "failed",
}


def can_change(status: Status, following: Status) -> bool:
    """Say whether a loop goes from one status to the other."""
    return following in TRANSITIONS[status]


def outcome_of_stop(stop_reason: str, error: str) -> Outcome:
    """Say what the last answer of a loop means for it."""
    if error == CANCELLED:
        return "cancelled"
    if stop_reason in _BY_STOP:
        return _BY_STOP[stop_reason]
    return "failed" if error else "completed"


def outcome_of_end(end: AgentEnd, foreseen: Outcome, last: Outcome) -> Outcome:
    """Say how a loop went: what the end says outright, what was foreseen, else what its last answer means."""
    if end.outcome is not None:
        return end.outcome
    if end.rejection is not None:
        return "rejected"
    return foreseen or ("failed" if end.error and last == "completed" else last)
