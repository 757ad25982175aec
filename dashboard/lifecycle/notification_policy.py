"""The notification policy: which lifecycle events cause a browser notification. No row, no notification.

Pages receive the rows that may notify and look events up by the same key, so this table is the only copy.
"""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.lifecycle.events import Frame

REQUESTED, WASTE = "approval-requested", "waste-found"
BLOCKED = "pending approval"


@dataclass(frozen=True, slots=True)
class NotificationRow:
    """One row. `says` is the text of the notification below the session's title, "" if there is none."""

    key: str
    glyph: str
    means: str
    says: str = ""


ROWS = (
    NotificationRow(REQUESTED, "waiting", "An agent waits for an approval", "Waits for your approval"),
    NotificationRow("turn-finished, finish", "completed", "A turn has finished", "Finished"),
    NotificationRow(
        f"turn-finished, finish, {BLOCKED}",
        "waiting",
        "A turn has finished with an open approval",
    ),
    NotificationRow("turn-finished, error", "error", "A turn ended with an error", "Failed"),
    NotificationRow("turn-finished, abort", "aborted", "A turn was cancelled or cut off"),
    NotificationRow(
        WASTE, "waste", "A loop does the same four times, or wastes at least the set amount", "Wastes calls"
    ),
    NotificationRow("turn-started", "running", "A turn has started"),
)
POLICY = {row.key: row for row in ROWS}


def key(frame: Frame) -> str:
    """Return the key of a frame's row, as `lifecycle_channel.js` does; the policy may have no such row."""
    reason = frame.get("reason")
    blocked = BLOCKED if reason == "finish" and frame.get("pending_approval") else None
    return ", ".join(str(word) for word in (frame.get("type"), reason, blocked) if word)
