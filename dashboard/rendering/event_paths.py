"""The texts and images of recorded events that a conversation links, by their paths: no others are shared."""

from __future__ import annotations

import re
from collections.abc import Mapping

from recorder.core.records import Json

_MESSAGE = r"message\.content(?:\.[0-9]{1,6}\.(?:text|thinking|arguments))?"
_MESSAGES = frozenset(("MessageStart", "MessageEnd", "TurnEnd"))
_ROLES = frozenset(("user", "assistant", "toolResult"))  # other roles are shown as JSON, system prompts too
_TEXTS: Mapping[str, re.Pattern[str]] = {
    "MessageStart": re.compile(_MESSAGE),
    "MessageEnd": re.compile(_MESSAGE),
    "TurnEnd": re.compile(rf"{_MESSAGE}|tool_results\.[0-9]{{1,6}}\.content"),
    "ToolExecutionStart": re.compile("args"),
    "ToolExecutionUpdate": re.compile(r"partial_result(?:\.content)?"),
    "ToolExecutionEnd": re.compile(r"result(?:\.content)?"),
    "CompactionEnded": re.compile("summary"),
}
_IN_MESSAGE = re.compile(r"message\.content\.[0-9]{1,6}")
_IMAGES: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys(_MESSAGES, _IN_MESSAGE),
    "ToolExecutionEnd": re.compile(r"result\.content\.[0-9]{1,6}"),
}
_KINDS = {"event-text": _TEXTS, "event-image": _IMAGES}  # by the name of the route


def is_linked(route: str, event: Mapping[str, Json], at: str) -> bool:
    """Return whether a conversation links what is at a path of an event, by the route of its URL."""
    paths = _KINDS[route].get(str(event.get("type")))
    if paths is None or not paths.fullmatch(at):
        return False
    message = event.get("message") if at.startswith("message.") else None
    return message is None or (isinstance(message, dict) and message.get("role") in _ROLES)


def may_be_linked(route: str, at: str) -> bool:
    """Return whether a conversation links this path of some event."""
    return any(paths.fullmatch(at) for paths in _KINDS[route].values())
