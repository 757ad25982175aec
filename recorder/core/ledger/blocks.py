"""The blocks of a model request, in the order in which providers cache them: tools, system, messages.

A request is phi-core's annotated payload: `system_prompt`, `tools`, `messages` and `provenance`; instead of
the first, `system` has the parts of the system prompt as Anthropic takes them. Any part may be missing or
have another shape. Cost: one JSON encoding and one hash of each message.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Literal, NamedTuple

from recorder.core.content import messages
from recorder.core.content.text import clean
from recorder.core.records import Json

Kind = Literal[
    "tool_definition",
    "system",
    "user",
    "assistant",
    "thinking",
    "tool_result",
    "compaction_summary",
    "sub_agent_report",
]
KINDS: tuple[Kind, ...] = (
    *("tool_definition", "system", "compaction_summary", "user", "assistant", "thinking"),
    *("sub_agent_report", "tool_result"),
)
NAME_MAX = 200  # characters of a name, a detail or a server
SETTINGS = (
    *("thinking_level", "temperature", "max_tokens", "response_format"),
    *("tool_choice", "prompt_cache_retention"),
)
ID_MAX = 512  # characters of the id of a tool call
UNRECORDED = "not recorded"  # name of the block for a system prompt and tools that the request lacks
_OTHER_MESSAGES = ("identity-block", "memory-tier", "system-prompt")  # provenance of parts of the system


class ToolCall(NamedTuple):
    """The tool call that a result answers."""

    name: str
    summary: str = ""  # of its arguments, in one line
    is_sub_agent: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a request. Equal keys are equal bytes of one kind."""

    kind: Kind
    key: str  # 16 hex digits
    bytes: int  # of its text in UTF-8
    name: str = ""  # of the tool, the source of a system block, or ""
    detail: str = ""  # arguments of the call in one line
    server: str = ""  # of an MCP tool
    place: int = -1  # index of its message in the request; -1 for tools and system
    tool_call_id: str = ""  # of a result
    event: int | None = None  # the line that holds it


@dataclass(frozen=True, slots=True)
class Request:
    """The request of a model call. `is_recorded` is False if messages are inferred from earlier events."""

    model: str
    settings: Mapping[str, Json]
    blocks: Sequence[Block]
    is_recorded: bool = True


def read_request(payload: Json) -> Request | None:
    """Return the request of a `TurnRequest`'s payload; None if it has no list of messages."""
    if not isinstance(payload, dict) or not isinstance(payload.get("messages"), list):
        return None
    found = [block for block, _ in blocks_with_texts(payload)]
    return Request(messages.text_field(payload, "model_id"), settings_of(payload), found)


def settings_of(payload: Mapping[str, Json]) -> dict[str, Json]:
    """Return the settings of a request; which of them a provider caches by is in `cache_rules`."""
    return {name: payload.get(name) for name in SETTINGS if payload.get(name) is not None}


def blocks_with_texts(payload: Mapping[str, Json]) -> Iterator[tuple[Block, str]]:
    """Yield each block of a request, with its text as it is compared and measured."""
    yield from fixed_blocks(payload)
    provenance, sent = payload.get("provenance"), payload.get("messages")
    sources = provenance if isinstance(provenance, list) else []
    for place, message in enumerate(sent if isinstance(sent, list) else ()):
        source = sources[place] if place < len(sources) else None
        yield from blocks_of_message(message, place, source)


def fixed_blocks(payload: Mapping[str, Json]) -> Iterator[tuple[Block, str]]:
    """Yield the tool definitions and the system prompt of a request."""
    tools = payload.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        name = _tool_name(tool)
        text = _encode(tool)
        yield _block("tool_definition", text, name=name, server=server_of(name)), text
    for text in system_texts(payload):
        yield _block("system", text), text


def system_texts(payload: Mapping[str, Json]) -> list[str]:
    """Return the system prompt of a request: one text, or that of each part."""
    prompt, parts = payload.get("system_prompt"), payload.get("system")
    if isinstance(prompt, str) and prompt:
        return [prompt]
    found = (part.get("text") for part in parts if isinstance(part, dict)) if isinstance(parts, list) else ()
    return [text for text in found if isinstance(text, str) and text]


def blocks_of_message(message: Json, place: int, source: Json = None) -> Iterator[tuple[Block, str]]:
    """Yield the blocks of one message: an assistant's thinking apart from the rest of its answer."""
    role = messages.role_of(message)
    fields = message if isinstance(message, dict) else {}
    content = fields.get("content")
    if role == "assistant":
        alone: list[Json] = [{"type": "text", "text": content}]
        parts = content if isinstance(content, list) else alone
        thinking: list[Json] = [part for part in parts if _type(part) == "thinking"]
        answer: list[Json] = [part for part in parts if _type(part) != "thinking"]
        if thinking:
            text = _text_of(thinking)
            yield _block("thinking", text, place=place), text
        if answer:
            text = _text_of(answer)
            yield _block("assistant", text, place=place), text
        return
    text = _text_of(content)
    if role == "toolResult":
        yield _result(fields, text, place), text
    else:
        yield _of_user(text, place, source), text


def server_of(tool: str) -> str:
    """Return the MCP server of a tool's name, "" for another tool: `mcp__SERVER__TOOL` names it."""
    parts = tool.split("__")
    return clean(parts[1], NAME_MAX) if len(parts) > 2 and parts[0] == "mcp" else ""


def named(block: Block, call: ToolCall) -> Block:
    """Return a result with the name and the arguments of its call, as a report if a sub-agent answered."""
    name = clean(call.name, NAME_MAX)
    kind: Kind = "sub_agent_report" if call.is_sub_agent else block.kind
    return replace(block, kind=kind, name=name, server=server_of(name), detail=clean(call.summary, NAME_MAX))


def _result(message: dict[str, Json], text: str, place: int) -> Block:
    name = clean(messages.text_field(message, "toolName"), NAME_MAX)
    call_id = messages.text_field(message, "toolCallId")
    found = _block("tool_result", text, name=name, server=server_of(name), place=place, salt=call_id)
    return replace(found, tool_call_id=clean(call_id, ID_MAX))


def _of_user(text: str, place: int, source: Json) -> Block:
    kind = messages.text_field(source, "kind") if isinstance(source, dict) else ""
    if isinstance(source, dict) and kind in _OTHER_MESSAGES:
        name = messages.text_field(source, "name") or messages.text_field(source, "tier") or kind
        return _block("system", text, name=clean(name, NAME_MAX), place=place)
    return _block("user", text, place=place)


def _block(
    kind: Kind,
    text: str,
    *,
    name: str = "",
    detail: str = "",
    server: str = "",
    place: int = -1,
    salt: str = "",
) -> Block:
    encoded = text.encode(errors="surrogatepass")
    key = sha256(f"{kind} {salt}\0".encode(errors="surrogatepass") + encoded).hexdigest()[:16]
    return Block(kind, key, len(encoded), name, detail, server, place)


def _text_of(content: Json) -> str:
    """Return the text of a message's content if it has only one text, else its JSON."""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and len(content) == 1:
        only = content[0]
        if isinstance(only, dict) and isinstance(only.get("text"), str) and only.get("type") == "text":
            return messages.text_field(only, "text")
    return _encode(content)


def _encode(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _type(part: Json) -> str:
    return messages.text_field(part, "type") if isinstance(part, dict) else ""


def _tool_name(tool: Json) -> str:
    """Return the name of a definition; OpenAI nests it in `function`."""
    fields = tool if isinstance(tool, dict) else {}
    nested = fields.get("function")
    name = (nested if isinstance(nested, dict) else fields).get("name")
    return clean(name, NAME_MAX) if isinstance(name, str) and name else "unnamed"


def bytes_of(blocks: Iterable[Block]) -> int:
    """Return the bytes of some blocks."""
    return sum(block.bytes for block in blocks)
