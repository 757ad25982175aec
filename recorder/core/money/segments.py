"""Ledger segments: the cost of every loop counts in exactly one, given by the first rule that matches.

The purpose of a loop precedes its outcome: so the branches and the judge of a group add up to the cost of
the group, and an aborted sub-agent still counts as the cost of sub-agents.
"""

from recorder.core.records import Role, Segment, Status

STOPPED = ("aborted", "rejected")
_BY_ROLE: dict[Role, Segment] = {"judge": "judge", "compaction": "compaction", "sub_agent": "sub_agents"}


def segment(*, role: Role, status: Status, continuation_kind: str, is_selected: bool | None) -> Segment:
    """Return the segment of a loop; `is_selected` is None until its group has ended."""
    if role == "branch" and is_selected is not None:
        return "winner" if is_selected else "losers"
    if role in _BY_ROLE:
        return _BY_ROLE[role]
    if continuation_kind == "Rerun":
        return "reruns"
    if status in STOPPED:
        return "stopped"
    return "undecided" if role == "branch" else "single"
