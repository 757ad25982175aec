"""The types of the lines of Codex's rollouts."""

from __future__ import annotations

from collections.abc import Mapping

from recorder.core.formats.base import Fields, Translation, object_field, parse_time, text_field

TYPES = frozenset(
    (
        *("session_meta", "response_item", "event_msg", "turn_context", "token_usage_record"),
        *("world_state", "compacted", "inter_agent_communication_metadata", "inter_agent_communication"),
        *("security_risk_score", "realtime_item", "rollout_reference", "retained_context"),
        "agent_response_observation",
    )
)
STARTS = frozenset(("task_started", "turn_started"))  # marks of a task in `event_msg`
ENDS = frozenset(("task_complete", "turn_complete", "turn_aborted"))


def detects(line: Mapping[str, object]) -> bool:
    """Return whether a line is of a rollout of Codex."""
    if "instructions" in line and "git" in line and "id" in line:  # the head of an older release
        return True
    return line.get("type") in TYPES and isinstance(line.get("payload"), dict) and "timestamp" in line


def translation_of(line: Fields) -> Translation:
    """Return the translation of a line as far as its type and its time say it."""
    kind, name = text_field(line, "type"), text_field(object_field(line, "payload"), "type")
    return Translation(f"{kind} {name}".strip() or "line", timestamp=parse_time(line.get("timestamp")))
