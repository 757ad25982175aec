"""When a browser notifies: the one table, row by row. What has no row is silent.

A page is sent the rows that may notify and looks a frame up by the same key; it holds no second copy.
"""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.lifecycle.events import Frame

ASKED = "approval-requested"
BLOCKED = "pending approval"


@dataclass(frozen=True, slots=True)
class Row:
    """One row; `says` stands in a notification below the session's title, "" if there never is one."""

    key: str
    glyph: str
    means: str
    says: str = ""


ROWS = (
    Row(ASKED, "waiting", "The agent is stalled on you", "Waits for your approval"),
    Row("turn-finished, finish", "completed", "Done, come and look", "Finished"),
    Row(f"turn-finished, finish, {BLOCKED}", "waiting", f"Covered by {ASKED}"),
    Row("turn-finished, error", "error", "It stopped on an error", "Failed"),
    Row("turn-finished, abort", "aborted", "Stopped by a person, or cut off"),
    Row("turn-started", "running", "Not a moment for attention"),
)
POLICY = {row.key: row for row in ROWS}


def key(frame: Frame) -> str:
    """Return the row that a frame falls under, as `lifecycle_channel.js` does; there may be none."""
    reason = frame.get("reason")
    blocked = BLOCKED if reason == "finish" and frame.get("pending_approval") else None
    return ", ".join(str(word) for word in (frame.get("type"), reason, blocked) if word)
