"""Parts of transcripts that several readers read: contents, results, failures."""

from __future__ import annotations

from datetime import UTC, datetime

from recorder.core.events.fields import is_id
from recorder.core.formats.base import Fields, format_time, parse_time
from recorder.core.records import Json

CONTEXTS = (
    *("<environment_context>", "<session_context>", "<user_instructions>", "<turn_aborted>"),
    "# AGENTS.md",
)


def objects(value: Json) -> list[Fields]:
    """Return the objects of a list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def text_of(value: Json) -> str:
    """Return a content, a text or a list of parts, as text."""
    if isinstance(value, str):
        return value
    texts = (part.get("text") for part in objects(value))
    return "\n".join(text for text in texts if isinstance(text, str))


def time_text(value: Json, at: datetime) -> str:
    """Return a line's own time, else the time of its arrival."""
    return format_time(parse_time(value) or at)


def time_ms(value: Json, at: datetime) -> str:
    """Return a time in milliseconds since 1970, else the time of arrival."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 253_402_300_799_000:
        return format_time(datetime.fromtimestamp(value / 1000, UTC))
    return format_time(at)


def is_context(text: str) -> bool:
    """Return whether an agent wrote a message of the user role, to describe its environment."""
    return text.lstrip().startswith(CONTEXTS)


def loop_id(session: str, name: Json) -> str:
    """Return the id of a loop in a session."""
    made = f"{session}.{name}"
    return made if is_id(made) else f"{session}.loop"


def before(name: str) -> str | None:
    """Return the `loop_id` of lines before the first loop of a stream, by which that loop adopts them."""
    key = f"before-{name}"
    return key if name and is_id(key) else None


def call_block(call: Json, name: Json, arguments: Json) -> Fields:
    """Return a tool call as a block of an answer."""
    return {"type": "toolCall", "id": str(call or ""), "name": str(name or ""), "arguments": arguments}


def thinking(text: Json) -> list[Fields]:
    return [{"type": "thinking", "thinking": text}] if isinstance(text, str) and text else []


def plain(text: Json) -> list[Fields]:
    return [{"type": "text", "text": text}] if isinstance(text, str) and text else []
