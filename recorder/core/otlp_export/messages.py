"""Native messages as the messages of the GenAI conventions: roles, and parts with a type."""

from __future__ import annotations

from collections.abc import Iterable

from recorder.core.content.messages import role_of, text_field
from recorder.core.content.text import json_text
from recorder.core.formats.base import Fields
from recorder.core.records import Json

_ROLES = {"assistant": "assistant", "user": "user", "system": "system"}


def text_of_messages(messages: Iterable[Json], finish: str = "") -> str:
    """Return messages as the JSON text of an attribute; an answer also names why it ended."""
    made = [_message(each) for each in messages if isinstance(each, dict)]
    if finish and made:
        made[-1]["finish_reason"] = finish
    return json_text(made, separators=(",", ":"))


def _message(message: Fields) -> Fields:
    if role_of(message) == "toolResult":
        return {"role": "tool", "parts": [_result(message)]}
    role = _ROLES.get(text_field(message, "role"), "user")
    return {"role": role, "parts": parts_of(message.get("content"))}


def parts_of(content: Json) -> list[Json]:
    """Return the content of a message, a text or blocks, as parts."""
    if isinstance(content, str):
        return [{"type": "text", "content": content}]
    return [_part(each) for each in content if isinstance(each, dict)] if isinstance(content, list) else []


def _part(block: Fields) -> Json:
    kind = text_field(block, "type")
    if kind == "text":
        return {"type": "text", "content": text_field(block, "text")}
    if kind == "thinking":
        return {"type": "reasoning", "content": text_field(block, "thinking")}
    if kind == "toolCall":
        named = {"id": text_field(block, "id"), "name": text_field(block, "name")}
        return {"type": "tool_call", **named, "arguments": block.get("arguments")}
    return block


def _result(message: Fields) -> Json:
    return {
        "type": "tool_call_response",
        "id": text_field(message, "toolCallId"),
        "response": text_of_blocks(message.get("content")),
        "is_error": message.get("isError") is True,
    }


def text_of_blocks(content: Json) -> str:
    """Return the text of a tool's result; other blocks as JSON."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(
        text_field(block, "text")
        if isinstance(block, dict) and block.get("type") == "text"
        else json_text(block)
        for block in blocks
    )
