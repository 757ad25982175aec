"""The ledger: every loop stands in exactly one segment, the first of these rules that fits.

What it was for comes before how it went: so the branches and judge of a group are together its total, and a
sub-agent that was cut off is still the price of sub-agents.
"""

from recorder.core.records import Role, Segment, Status

STOPPED = ("aborted", "rejected")
_BY_ROLE: dict[Role, Segment] = {"judge": "judge", "compaction": "compaction", "sub_agent": "sub_agents"}


def segment(*, role: Role, status: Status, continuation_kind: str, is_selected: bool | None) -> Segment:
    """Return the segment of one loop; `is_selected` is None while its group has no verdict."""
    if role == "branch" and is_selected is not None:
        return "winner" if is_selected else "losers"
    if role in _BY_ROLE:
        return _BY_ROLE[role]
    if continuation_kind == "Rerun":
        return "reruns"
    if status in STOPPED:
        return "stopped"
    return "undecided" if role == "branch" else "single"
