"""The state machine of a loop's status, and the outcome of its end."""

from __future__ import annotations

from recorder.core.events import AgentEnd
from recorder.core.records import Outcome, Status

TRANSITIONS: dict[Status, frozenset[Status]] = {
    "pending": frozenset(("running",)),
    "running": frozenset(("completed", "rejected", "aborted")),
    "completed": frozenset(),  # LoopReopened makes a loop run again
    "rejected": frozenset(),
    "aborted": frozenset(),
}
CANCELLED = "Cancelled"  # phi-core's error message when a user stops a loop
_BY_STOP: dict[str, Outcome] = {
    "maxTurns": "limit",
    "aborted": "cancelled",
    "userStop": "cancelled",
    "error": "failed",
}


def can_change(status: Status, following: Status) -> bool:
    """Return whether `TRANSITIONS` allow a loop to change from `status` to `following`."""
    return following in TRANSITIONS[status]


def outcome_of_stop(stop_reason: str, error: str) -> Outcome:
    """Return the outcome that a loop's last answer implies."""
    if error == CANCELLED:
        return "cancelled"
    if stop_reason in _BY_STOP:
        return _BY_STOP[stop_reason]
    return "failed" if error else "completed"


def outcome_of_end(end: AgentEnd, foreseen: Outcome, last: Outcome) -> Outcome:
    """Return a loop's outcome: that of its end, else `foreseen`, else `last`, that of its last answer."""
    if end.outcome is not None:
        return end.outcome
    if end.rejection is not None:
        return "rejected"
    return foreseen or ("failed" if end.error and last == "completed" else last)
