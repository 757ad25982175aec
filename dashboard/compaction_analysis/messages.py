"""Messages of a request, as far as comparing two requests needs them; anything may be missing. Pure."""

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
PASSING = ("timestamp", "usage", "turnId", "nodeId", "parentId", "tags", "provenanceHint")


@dataclass(frozen=True, slots=True)
class Message:
    """One message: `key` is equal where two say the same, `name` where they are the same one."""

    role: str
    key: bytes
    name: bytes
    size: int  # bytes of what it says
    text: str  # as one line
    calls: tuple[str, ...] = ()  # that it makes, or answers
    tools: tuple[str, ...] = ()
    whole: str = ""  # all of its text

    @property
    def who(self) -> str:
        return WHO.get(self.role, self.role or "A message without a role")

    @property
    def is_result(self) -> bool:
        return self.role in ("toolResult", "tool")


def messages(values: Json) -> list[Message]:
    """Read a list of messages."""
    return [message(each) for each in values] if isinstance(values, list) else []


def message(value: Json) -> Message:
    """Read a message: a result is known by its call, an answer by its calls, others by what they say."""
    said: dict[str, Json] = value if isinstance(value, dict) else {"content": value}
    role, content = text_field(said, "role"), said.get("content")
    answered = text_field(said, "toolCallId") or text_field(said, "tool_call_id")
    asked = [part for part in _parts(content) if part.get("type") == "toolCall"]
    calls = (answered,) if answered else tuple(text_field(part, "id") for part in asked)
    tools = (text_field(said, "toolName"),) if answered else tuple(text_field(part, "name") for part in asked)
    body = content if "content" in said else {n: v for n, v in said.items() if n not in PASSING}
    key = _digest([role, answered, body])
    whole = text_of(said)
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


def groups(found: Sequence[Message]) -> list[list[Message]]:
    """Return messages in phi-core's groups: an answer with the results of its calls, any other alone."""
    grouped: list[list[Message]] = []
    for each in found:
        if each.is_result and grouped and grouped[-1][0].role == "assistant":
            grouped[-1].append(each)
        else:
            grouped.append([each])
    return grouped


def total(found: Iterable[Message]) -> int:
    return sum(each.size for each in found)


def _parts(content: Json) -> list[dict[str, Json]]:
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _size(content: Json) -> int:
    """Return how many bytes a message says: its texts, thoughts and arguments, without what frames them."""
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
    said = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return blake2b(said.encode(errors="surrogatepass"), digest_size=16).digest()
