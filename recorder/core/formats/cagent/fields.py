"""Checks and conversions of single fields of a cagent line."""

from __future__ import annotations

from recorder.core.events.fields import is_id
from recorder.core.formats import InvalidLineError
from recorder.core.formats.base import (
    Fields,
    format_time,
    object_field,
    parse_arguments,
    parse_time,
    required_id,
    text_field,
)
from recorder.core.records import Json

_WITH_SESSION = ("stream_started", "stream_stopped", "session_title")
_WITH_CALL = (
    "partial_tool_call",
    "tool_call",
    "tool_call_confirmation",
    "tool_call_response",
    "hook_blocked",
)


def check_fields(name: str, line: Fields) -> None:
    """Check the fields that `name` cannot do without, before the line changes any state.

    Raises:
        InvalidLineError: a session id or tool call is missing, or not an id.
    """
    if name in _WITH_SESSION:
        session_id = required_id(line, "session_id")
        if not is_id(f"{session_id}.{10**9}"):  # a loop's id is made of it
            raise InvalidLineError("bad_id", "session_id", "the id is too long")
    if name in _WITH_CALL:
        call = line.get("tool_call")
        if not isinstance(call, dict):
            raise InvalidLineError("missing_field", "tool_call", "the field is missing")
        required_id(call, "id")


def tool_call_parts(line: Fields) -> tuple[str, str, str]:
    """Return a tool call's id, the tool's name, and the arguments as JSON text."""
    found = object_field(line, "tool_call")
    function = object_field(found, "function")
    return text_field(found, "id"), text_field(function, "name"), text_field(function, "arguments")


def approval_command(name: str, arguments: str) -> str:
    """Return what is to be approved: the command of a shell tool, else the tool's name and arguments."""
    args = parse_arguments(arguments)
    if isinstance(args, dict) and isinstance(found := args.get("cmd", args.get("command")), str):
        return found
    return f"{name} {arguments}".strip()


def is_destructive(line: Fields) -> bool:
    return object_field(object_field(line, "tool_definition"), "annotations").get("destructiveHint") is True


def line_time(line: Fields) -> Json:
    """Return the time that the line carries, in RFC 3339, or None."""
    at = parse_time(line.get("timestamp"))
    return None if at is None else format_time(at)


def prompt_content(line: Fields) -> list[Json]:
    """Return the content of a user's message: its text, then images that came as data URLs."""
    parts = line.get("multi_content")
    found: list[Json] = [{"type": "text", "text": text_field(line, "message")}]
    for part in parts if isinstance(parts, list) else []:
        url = text_field(object_field(part, "image_url"), "url") if isinstance(part, dict) else ""
        head, comma, encoded = url.partition(";base64,")
        if comma and head.startswith("data:"):
            found.append({"type": "image", "data": encoded, "mimeType": head.removeprefix("data:")})
    return found


def tool_result(line: Fields) -> Fields:
    """Return the result of a tool in phi-core's shape: text, images, structured content."""
    result = object_field(line, "result")
    images = result.get("images")
    content: list[Json] = [{"type": "text", "text": text_field(line, "response")}]
    content += [
        {"type": "image", "data": text_field(image, "data"), "mimeType": text_field(image, "mimeType")}
        for image in (images if isinstance(images, list) else [])
        if isinstance(image, dict)
    ]
    details = {name: result[name] for name in ("structuredContent", "meta") if result.get(name) is not None}
    return {"content": content, "details": details or None}
