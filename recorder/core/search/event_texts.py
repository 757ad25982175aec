"""The searchable texts of a recorded event. Each text is taken from one event, though the wire repeats it.

Answers come from MessageEnd, and from TurnEnd where no message ended before it in the turn; arguments from
the start of a call, results from its end. Prompts come from MessageEnd, and from AgentStart, AgentEnd and the
last one of a request where no message has them. The instructions of Codex are in lines of its own format.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

from recorder.core.records import Json

Kind = Literal["prompt", "answer", "thinking", "tool_call", "tool_result", "system"]
Event = Mapping[str, Json]

HEAD_BYTES, TAIL_BYTES = 64 * 1024, 8 * 1024  # of a tool's arguments and result
TEXT_CHARACTERS = 1_000_000  # of any other text
_LEAVES = 20_000  # values of one JSON value


@dataclass(frozen=True, slots=True)
class Text:
    """A searchable text of an event."""

    kind: Kind
    text: str


def texts_of(event_type: str, event: Event) -> list[Text]:
    """Return the searchable texts of an event, in the order of the event, none of them blank."""
    read = _READERS.get(event_type)
    return [text for text in read(event) if text.text.strip()] if read else []


def digest(text: str) -> str:
    """Return the digest by which a repeated system prompt is known, 16 characters."""
    return blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()


def flat(value: Json) -> str:
    """Return a JSON value as text: strings as they are, fields of objects as lines `name: value`."""
    if isinstance(value, str):
        return value
    lines: list[str] = []
    stack: list[tuple[str, Json]] = [("", value)]
    while stack and len(lines) < _LEAVES:
        name, inner = stack.pop()
        if isinstance(inner, dict):
            stack += [(key, inner[key]) for key in reversed(inner)]
            lines += [f"{name}:"] if name else []
        elif isinstance(inner, list):
            stack += [(name if not at else "", each) for at, each in reversed(list(enumerate(inner)))]
        else:
            leaf = inner if isinstance(inner, str) else json.dumps(inner)
            lines.append(f"{name}: {leaf}" if name else leaf)
    return "\n".join(lines)


def _message(event: Event) -> Iterator[Text]:
    message = event.get("message")
    if not isinstance(message, dict):
        return
    role, content = message.get("role"), message.get("content")
    kind: Kind = {"user": "prompt", "assistant": "answer", "toolResult": "tool_result"}.get(  # type: ignore[assignment]
        role if isinstance(role, str) else "", "system"
    )
    if kind == "tool_result":
        yield Text(kind, _result(dict(message)))
        return
    if kind == "system" and content is None:
        yield Text(kind, flat(message.get("data"))[:TEXT_CHARACTERS])
        return
    error = message.get("error_message") or message.get("errorMessage")
    texts = [*_parts(content, "text"), *([error] if isinstance(error, str) else [])]
    yield Text("thinking", "\n".join(_parts(content, "thinking"))[:TEXT_CHARACTERS])
    yield Text(kind, "\n".join(texts)[:TEXT_CHARACTERS])


def _parts(content: Json, kind: str) -> list[str]:
    """Return the texts of the blocks of one kind; a content that is a string is one block of text."""
    if isinstance(content, str):
        return [content] if kind == "text" else []
    blocks = content if isinstance(content, list) else []
    found = [block.get(kind) for block in blocks if isinstance(block, dict) and block.get("type") == kind]
    return [text for text in found if isinstance(text, str)]


def _prompts(event: Event) -> Iterator[Text]:
    """Yield the prompts among the messages of a loop's start or end."""
    messages = event.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if text := _prompt(message):
            yield Text("prompt", text)


def _prompt(message: Json) -> str:
    """Return the text of a message of the user, "" for any other; one with results of tools has none."""
    if not isinstance(message, dict) or message.get("role") != "user":
        return ""
    return "\n".join(_parts(message.get("content"), "text"))[:TEXT_CHARACTERS]


def _tool_start(event: Event) -> Iterator[Text]:
    name = event.get("tool_name")
    args = flat(event["args"]) if event.get("args") is not None else ""
    yield Text("tool_call", f"{name if isinstance(name, str) else ''}\n{_bounded(args)}")


def _tool_end(event: Event) -> Iterator[Text]:
    yield Text("tool_result", _result(event.get("result")))


def _result(result: Json) -> str:
    """Return the text of a result, bounded: its content and its details, or the whole value."""
    if not isinstance(result, dict) or "content" not in result:
        return "" if result is None else _bounded(flat(result))
    content = result["content"]
    text = "\n".join(_parts(content, "text"))
    if not text and not (isinstance(content, list) and all(map(_is_image, content))):
        text = flat(content)
    details = flat(result["details"]) if result.get("details") is not None else ""
    return "\n".join(filter(None, (_bounded(text), "" if details in text else _bounded(details))))


def _is_image(part: Json) -> bool:
    return isinstance(part, dict) and part.get("type") == "image"


def _request(event: Event) -> Iterator[Text]:
    """Yield the system prompt of a request, in phi-core's form or in that of a provider, and its prompt."""
    payload = event.get("payload")
    if not isinstance(payload, dict):
        return
    yield from (Text("system", text[:TEXT_CHARACTERS]) for text in _system(payload))
    messages = payload.get("messages")
    prompts = map(_prompt, reversed(messages)) if isinstance(messages, list) else iter(())
    yield Text("prompt", next(filter(None, prompts), ""))


def _system(payload: Event) -> Iterator[str]:
    for name in ("system_prompt", "system", "instructions"):
        if text := "\n".join(_parts(payload.get(name), "text")):
            yield text
            return
    messages = payload.get("messages")
    for message in messages[:2] if isinstance(messages, list) else ():
        if isinstance(message, dict) and message.get("role") in ("system", "developer"):
            yield "\n".join(_parts(message.get("content"), "text"))


def _codex_session(line: Event) -> Iterator[Text]:
    """Yield the system prompt of a session of Codex."""
    payload = line.get("payload")
    instructions = payload.get("base_instructions") if isinstance(payload, dict) else None
    text = instructions.get("text") if isinstance(instructions, dict) else instructions
    if isinstance(text, str):
        yield Text("system", text[:TEXT_CHARACTERS])


def _codex_item(line: Event) -> Iterator[Text]:
    """Yield a message of the developer to the model; other messages are translated to events."""
    message = line.get("payload")
    if not isinstance(message, dict) or message.get("role") not in ("system", "developer"):
        return
    content = message.get("content")
    blocks = content if isinstance(content, list) else [{"text": content}]
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    yield Text("system", "\n".join(text for text in texts if isinstance(text, str))[:TEXT_CHARACTERS])


def _field(name: str) -> Callable[[Event], Iterator[Text]]:
    def read(event: Event) -> Iterator[Text]:
        value = event.get(name)
        if isinstance(value, str):
            yield Text("system", value[:TEXT_CHARACTERS])

    return read


def _bounded(text: str) -> str:
    """Return the first 64 kB and the last 8 kB of a text."""
    if len(text) <= (HEAD_BYTES + TAIL_BYTES) // 4:
        return text
    encoded = text.encode(errors="surrogatepass")
    if len(encoded) <= HEAD_BYTES + TAIL_BYTES:
        return text
    head, tail = encoded[:HEAD_BYTES], encoded[-TAIL_BYTES:]
    return f"{head.decode(errors='ignore')}\n{tail.decode(errors='ignore')}"


_READERS: dict[str, Callable[[Event], Iterator[Text]]] = {
    "MessageEnd": _message,
    "TurnEnd": _message,
    "TurnRequest": _request,
    "ToolExecutionStart": _tool_start,
    "ToolExecutionEnd": _tool_end,
    "ErrorRaised": _field("message"),
    "InputRejected": _field("reason"),
    "Notice": _field("text"),
    "CompactionEnded": _field("summary"),
    "AgentStart": _prompts,
    "AgentEnd": _prompts,
    "session_meta": _codex_session,
    "response_item": _codex_item,
}
FOREIGN_TYPES = ("session_meta", "response_item message")  # as records name these lines
TYPES = (*_READERS, *FOREIGN_TYPES)
ONCE = ("TurnRequest", "session_meta", "response_item")  # repeat a system prompt
