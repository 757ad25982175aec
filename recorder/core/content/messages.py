"""Lenient reading of messages: any part may be missing or have another shape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from recorder.core.records import Json

ENCRYPTED_SUMMARY = "[summary encrypted by the provider"  # beginning of the text in place of such a summary
LIMIT_NOTE = "[Agent stopped:"  # prefix of phi-core's user message when a limit ends the loop


class Answer(NamedTuple):
    """The head of an assistant message."""

    model: str
    provider: str
    stop_reason: str
    error: str


def role_of(message: Json) -> str:
    """Return the role of a message, "" if it has none."""
    return text_field(message, "role") if isinstance(message, dict) else ""


def text_of(message: Json) -> str:
    """Return the text blocks of a message, joined by line breaks."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    blocks = [block for block in content if isinstance(block, dict) and block.get("type") == "text"]
    return "\n".join([text_field(block, "text") for block in blocks])


def answer_of(message: Json) -> Answer | None:
    """Return the head of an assistant message, None for any other."""
    if not isinstance(message, dict) or message.get("role") != "assistant":
        return None
    return Answer(
        text_field(message, "model"),
        text_field(message, "provider"),
        text_field(message, "stopReason"),
        text_field(message, "error_message"),
    )


def first_answer(messages: Iterable[Json]) -> Answer | None:
    """Return the head of the first assistant message, None if there is none."""
    return next((answer for message in messages if (answer := answer_of(message))), None)


def iter_messages(messages: Json) -> Iterator[Json]:
    """Iterate over a list of messages; over nothing if it is not a list."""
    if isinstance(messages, list):
        yield from messages


def reversed_messages(messages: Json) -> Iterator[Json]:
    """Iterate over a list of messages backwards; over nothing if it is not a list."""
    if isinstance(messages, list):
        yield from reversed(messages)


def text_field(value: dict[str, Json], name: str) -> str:
    """Return a field that is text, else ""."""
    found = value.get(name)
    return found if isinstance(found, str) else ""
