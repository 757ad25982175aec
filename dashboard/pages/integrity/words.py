"""Reasons of rejected lines and kinds of inconsistencies in words; a page shows the code behind them."""

REJECTED = {
    "bad_json": "The line is not JSON",
    "bad_utf8": "The line is not UTF-8",
    "not_object": "The line is not a JSON object",
    "bad_type": "The line has no known type",
    "missing_field": "A field is missing",
    "wrong_type": "A field has a value of the wrong type",
    "out_of_range": "A number is outside of its limits",
    "bad_timestamp": "A time cannot be read",
    "bad_id": "An id is empty, too long or has control characters",
    "dup_key": "A field occurs twice",
    "too_deep": "The JSON is nested too deeply",
    "too_large": "The line is too large",
    "seq_conflict": "Another line was stored under this number",
    "our_bug": "Loopscope failed on the line: a rebuild reads it again once that is fixed",
}  # by code
INCONSISTENCIES = {
    "cycle": "A tool call names an ancestor of its loop as its sub-agent",
    "duplicate_end": "A parallel group ended twice",
    "duplicate_start": "A loop started again before it ended",
    "late": "Events came after their loop had ended",
    "orphan": "Events came for a loop that never started",
    "our_bug": "Loopscope failed on a line: a rebuild reads it again once that is fixed",
    "self_parent": "A loop names itself as its parent",
    "unknown_approval": "An approval was resolved that was never requested",
    "unknown_group": "A parallel group ended that never started",
    "unknown_type": "A line or an event has an unknown type",
}  # by kind; an agent may report others
ORPHAN = "The loop of the event never started"
UNRECORDED = "No model call, tool call or agent"


def sentence(name: str, reason: str) -> str:
    """Return what a reason of the list `name` means; "" if the reason says it itself."""
    if name == "orphans":
        return ORPHAN
    if name == "unrecorded":
        return UNRECORDED
    return {"rejected": REJECTED, "inconsistencies": INCONSISTENCIES}.get(name, {}).get(reason, "")
