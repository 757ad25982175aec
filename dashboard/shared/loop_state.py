"""Kind, state and title of a loop, as pages show them."""

from __future__ import annotations

from dashboard.shared.session_state import OPEN, is_stale_loop
from recorder.models import LoopRecord

KINDS = {
    "Initial": ("Initial", "message-square"),
    "Default": ("Continue", "corner-down-right"),
    "Compaction": ("Compaction", "fold-vertical"),
    "Rerun": ("Rerun", "rotate-ccw"),
    "Branch": ("Branch", "git-branch"),
}
ROLES = {
    "branch": ("Branch", "git-branch"),
    "judge": ("Judge", "scale"),
    "compaction": ("Compaction", "fold-vertical"),
    "sub_agent": ("Sub-agent", "bot"),
    "unlisted": ("Unlisted", "circle-dollar-sign"),
}
WITHOUT_TEXT = "Completed"  # the activity of a loop that ended without an answer in words
ENDS = ("failed", "cancelled", "limit", "rejected", "aborted")


def kind_of(loop: LoopRecord) -> tuple[str, str]:
    """Return the kind of a loop in words, and its icon."""
    if loop.is_selected:
        return "Winner", "git-branch"
    return ROLES.get(loop.role) or KINDS.get(loop.continuation_kind, KINDS["Initial"])


def state_of(loop: LoopRecord, *, is_waiting: bool = False) -> str:
    """Return the state shown for a loop: that of its session if it is stale; else how it ended."""
    if is_waiting or is_stale_loop(loop):
        return "stale" if is_stale_loop(loop) else "waiting"
    if loop.status in OPEN:
        return loop.status
    if loop.outcome in ENDS:
        return loop.outcome
    if loop.is_selected:
        return "winner"
    if loop.role == "compaction" and loop.status == "completed":
        return "compaction"
    return loop.status


def title_of(loop: LoopRecord) -> str:
    """Return the prompt of a loop, else its activity; of a pending loop its id. How it ended is no title."""
    if loop.title or loop.status == "pending":
        return loop.title or loop.loop_id
    return "No prompt" if loop.activity in ("", WITHOUT_TEXT) else loop.activity
