"""Conversion of recorded bodies to phi-core's current JSON: fields that older producers omit get defaults."""

from __future__ import annotations

from recorder.core.records import Json

_LATER_USAGE = ("reasoning", "cache_read", "cache_write", "total_tokens")


def event(body: dict[str, Json]) -> dict[str, Json]:
    """Return a recorded event; fields that phi-core does not define are unchanged."""
    kind = body.get("type")
    written = {name: _part(name, value) for name, value in body.items()}
    if kind == "AgentStart":
        written.setdefault("continuation_kind", "Initial")
    if kind == "TurnStart" and written.get("triggered_by") == "FollowUp":
        written["triggered_by"] = "Continuation"
    return written


def messages(value: Json) -> Json:
    """Return a list of messages; any other value unchanged."""
    return [message(item) for item in value] if isinstance(value, list) else value


def message(value: Json) -> Json:
    """Return a message; any other value unchanged."""
    if isinstance(value, dict) and "usage" in value:
        return {**value, "usage": _usage(value["usage"])}
    return value


def _part(name: str, value: Json) -> Json:
    match name:
        case "usage" | "evaluation_usage":
            return _usage(value)
        case "message":
            return message(value)
        case "messages":
            return messages(value)
        case _:
            return value


def _usage(value: Json) -> Json:
    return {**dict.fromkeys(_LATER_USAGE, 0), **value} if isinstance(value, dict) else value
