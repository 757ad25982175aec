"""What single fields of a cagent line hold."""

from __future__ import annotations

from recorder.core.events.fields import is_id
from recorder.core.formats import Refused
from recorder.core.formats.base import Fields, arguments, inside, needed_id, stamp, text, time_of
from recorder.core.records import Json

_WITH_SESSION = ("stream_started", "stream_stopped", "session_title")
_WITH_CALL = (
    "partial_tool_call",
    "tool_call",
    "tool_call_confirmation",
    "tool_call_response",
    "hook_blocked",
)


def check(name: str, line: Fields) -> None:
    """Refuse what cannot be understood before anything of it counts."""
    if name in _WITH_SESSION:
        session_id = needed_id(line, "session_id")
        if not is_id(f"{session_id}.{10**9}"):  # a loop's id is made of it
            raise Refused("bad_id", "session_id", "the id is too long")
    if name in _WITH_CALL:
        call = line.get("tool_call")
        if not isinstance(call, dict):
            raise Refused("missing_field", "tool_call", "the field is missing")
        needed_id(call, "id")


def call(line: Fields) -> tuple[str, str, str]:
    """Return a tool call's id, the tool's name and its arguments as they are written."""
    found = inside(line, "tool_call")
    function = inside(found, "function")
    return text(found, "id"), text(function, "name"), text(function, "arguments")


def command(name: str, given: str) -> str:
    """Return what is asked for: the command of a shell, else the tool and its arguments."""
    args = arguments(given)
    if isinstance(args, dict) and isinstance(found := args.get("cmd", args.get("command")), str):
        return found
    return f"{name} {given}".strip()


def is_destructive(line: Fields) -> bool:
    return inside(inside(line, "tool_definition"), "annotations").get("destructiveHint") is True


def own_time(line: Fields) -> Json:
    """Return the time that the line itself carries."""
    at = time_of(line.get("timestamp"))
    return None if at is None else stamp(at)


def prompt(line: Fields) -> list[Json]:
    """Return what a person said: its text, and pictures that came with it."""
    parts = line.get("multi_content")
    found: list[Json] = [{"type": "text", "text": text(line, "message")}]
    for part in parts if isinstance(parts, list) else []:
        url = text(inside(part, "image_url"), "url") if isinstance(part, dict) else ""
        head, comma, packed = url.partition(";base64,")
        if comma and head.startswith("data:"):
            found.append({"type": "image", "data": packed, "mimeType": head.removeprefix("data:")})
    return found


def result(line: Fields) -> Fields:
    """Return what a tool returned as phi-core writes it."""
    given = inside(line, "result")
    images = given.get("images")
    content: list[Json] = [{"type": "text", "text": text(line, "response")}]
    content += [
        {"type": "image", "data": text(image, "data"), "mimeType": text(image, "mimeType")}
        for image in (images if isinstance(images, list) else [])
        if isinstance(image, dict)
    ]
    more = {name: given[name] for name in ("structuredContent", "meta") if given.get(name) is not None}
    return {"content": content, "details": more or None}
