"""Decisions on tool calls, as Claude Code and Codex report them in spans and log records."""

from __future__ import annotations

from recorder.core.formats.base import Fields
from recorder.core.formats.otlp.spans.attributes import decoded_object, first_text, identifier

WAIT = "tool.blocked_on_user"  # span.type of the time that a call of Claude Code waited
_DECISIONS = {
    "accept": "granted",  # Claude Code
    "reject": "denied",
    "approved": "granted",  # Codex
    "approved_for_session": "granted",
    "approved_execpolicy_amendment": "granted",
    "denied": "denied",
    "timed_out": "expired",
    "abort": "cancelled",
}
_SCOPES = {"approved_for_session": "session", "user_permanent": "always"}
_AUTOMATIC = frozenset(("", "config", "unknown"))  # sources that are no person and no hook


def decision_of(name: str, attributes: Fields) -> list[str]:
    """Return decision, source and scope of an approval; empty if a tool was just allowed by its settings."""
    if not name.endswith("tool_decision") and attributes.get("span.type") != WAIT:
        return []
    value, source = first_text(attributes, ("decision",)), first_text(attributes, ("source",))
    decision = _DECISIONS.get(value.lower(), "")
    if not decision or (decision == "granted" and source.lower() in _AUTOMATIC):
        return []
    scope = _SCOPES.get(value.lower()) or _SCOPES.get(source.lower(), "")
    return [decision, "" if source.lower() == "unknown" else identifier(source)[:100], scope]


def command_of(attributes: Fields) -> str:
    """Return what was asked for, if the sender says it: the command, else the name of the tool."""
    parameters = decoded_object(attributes.get("tool_parameters"))
    command = first_text(parameters, ("full_command", "bash_command"))
    return command or first_text(attributes, ("full_command", "tool_name"))
