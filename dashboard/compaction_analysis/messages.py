"""Messages of a request, reduced to what a comparison needs. Accepts any JSON. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from recorder.core.content.messages import text_field, text_of
from recorder.core.content.text import clean, excerpt, strip_markdown
from recorder.core.records import Json

WHO = {"user": "User", "assistant": "Assistant", "toolResult": "Tool result", "tool": "Tool result"}
WHO |= {"system": "System"}
SHOWN = 160  # characters of a message in a row
METADATA_FIELDS = ("timestamp", "usage", "turnId", "nodeId", "parentId", "tags", "provenanceHint")


@dataclass(frozen=True, slots=True)
class Message:
    """One message. Equal `key`: same content; equal `name`: same message, maybe with other content."""

    role: str
    key: bytes
    name: bytes
    size: int  # bytes of its content
    text: str  # as one line
    calls: tuple[str, ...] = ()  # ids of the calls that it makes or answers
    tools: tuple[str, ...] = ()
    whole: str = ""  # its full text

    @property
    def who(self) -> str:
        return WHO.get(self.role, self.role or "Message without a role")

    @property
    def is_result(self) -> bool:
        return self.role in ("toolResult", "tool")


def messages(values: Json) -> list[Message]:
    """Parse a list of messages."""
    return [message(value) for value in values] if isinstance(values, list) else []


def message(value: Json) -> Message:
    """Parse a message.

    A result is named by its call, an assistant message by its calls, others by content.
    """
    fields: dict[str, Json] = value if isinstance(value, dict) else {"content": value}
    role, content = text_field(fields, "role"), fields.get("content")
    answered = text_field(fields, "toolCallId") or text_field(fields, "tool_call_id")
    tool_calls = [part for part in _parts(content) if part.get("type") == "toolCall"]
    calls = (answered,) if answered else tuple(text_field(part, "id") for part in tool_calls)
    tools = (
        (text_field(fields, "toolName"),)
        if answered
        else tuple(text_field(part, "name") for part in tool_calls)
    )
    body = content if "content" in fields else {n: v for n, v in fields.items() if n not in METADATA_FIELDS}
    key = _digest([role, answered, body])
    whole = text_of(fields)
    return Message(
        role=role,
        key=key,
        name=_digest([role, *calls]) if any(calls) else key,
        size=_size(body),
        text=excerpt(strip_markdown(whole), SHOWN),
        calls=calls,
        tools=tuple(clean(tool, SHOWN) for tool in tools),
        whole=clean(whole),
    )


def groups(items: Sequence[Message]) -> list[list[Message]]:
    """Group messages as phi-core does: an assistant message with its results, any other alone."""
    grouped: list[list[Message]] = []
    for item in items:
        if item.is_result and grouped and grouped[-1][0].role == "assistant":
            grouped[-1].append(item)
        else:
            grouped.append([item])
    return grouped


def total(items: Iterable[Message]) -> int:
    return sum(item.size for item in items)


def _parts(content: Json) -> list[dict[str, Json]]:
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _size(content: Json) -> int:
    """Return the bytes of a message's content: texts, thinking and arguments, without JSON syntax."""
    if isinstance(content, str):
        return len(content.encode(errors="replace"))
    if isinstance(content, list):
        return sum(_size_of(part) for part in content)
    return 0 if content is None else len(json.dumps(content, ensure_ascii=False).encode(errors="replace"))


def _size_of(part: Json) -> int:
    if not isinstance(part, dict):
        return _size(part)
    match part.get("type"):
        case "text":
            return _size(part.get("text"))
        case "thinking":
            return _size(part.get("thinking"))
        case "image":
            return _size(part.get("data"))
        case "toolCall":
            return _size(part.get("name")) + _size(part.get("arguments"))
        case _:
            return _size({name: value for name, value in part.items() if name != "type"})


def _digest(value: Json) -> bytes:
    encoded = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return blake2b(encoded.encode(errors="surrogatepass"), digest_size=16).digest()
