"""The turns of a loop in the file, each with its messages, tool calls and notes in recorded order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from dashboard.rendering import images
from recorder.core.content import messages
from recorder.core.content.text import json_text
from recorder.core.formats.base import Fields
from recorder.core.phi_session.writer import Entry, RecordedLoop
from recorder.core.records import Json, Turn

Kind = Literal["user", "answer", "thinking", "image", "tool", "note", "error", "compaction"]


@dataclass(slots=True)
class Item:
    """One part of a turn. Of a tool `text` is the result, and `arguments` are JSON."""

    kind: Kind
    text: str = ""
    name: str = ""
    arguments: str = ""
    state: str = ""  # of a tool: done, failed or cut
    began: datetime | None = None
    ended: datetime | None = None
    child: str = ""  # the anchor of the sub-agent that a tool started

    @property
    def duration_ms(self) -> int | None:
        if self.began is None or self.ended is None:
            return None
        return max(0, round((self.ended - self.began).total_seconds() * 1000))


@dataclass(slots=True)
class Part:
    """The items of one turn, or those outside of turns."""

    turn: Turn | None
    items: list[Item] = field(default_factory=list)


def parts_of(recorded: RecordedLoop, children: Mapping[str, str]) -> list[Part]:
    """Return what a loop has to show; `children` are anchors of sub-agents by tool call."""
    parts: list[Part] = []
    tools: dict[str, Item] = {}
    answered: set[Turn] = set()
    executed = {_text(each.body, "tool_call_id") for each in recorded.entries
                if each.record.type == "ToolExecutionStart"}  # fmt: skip
    for entry in recorded.entries:
        turn = entry.record.turn
        if not parts or parts[-1].turn is not turn:
            parts.append(Part(turn))
        if entry.record.type == "TurnEnd" and turn not in answered:
            parts[-1].items += _message(entry.body.get("message"), executed)
        is_answer = messages.role_of(entry.body.get("message")) == "assistant"
        if entry.record.type == "MessageEnd" and turn is not None and is_answer:
            answered.add(turn)
        parts[-1].items += _items(entry, tools, children, executed)
    return [part for part in parts if part.items or part.turn is not None]


def _items(
    entry: Entry, tools: dict[str, Item], children: Mapping[str, str], executed: set[str]
) -> Iterator[Item]:
    body, at = entry.body, entry.record.occurred_at
    call = _text(body, "tool_call_id")
    match entry.record.type:
        case "MessageEnd":
            yield from _message(body.get("message"), executed)
        case "ToolExecutionStart":
            arguments = json_text(body.get("args"), indent=1)
            tools[call] = Item("tool", name=_text(body, "tool_name"), arguments=arguments, state="cut",
                               began=at, child=children.get(call, ""))  # fmt: skip
            yield tools[call]
        case "ToolExecutionEnd" if call in tools:
            tool, result = tools.pop(call), body.get("result")
            tool.text = text_of(result.get("content") if isinstance(result, dict) else result)
            tool.state = "failed" if body.get("is_error") is True else "done"
            tool.ended = at
        case "CompactionEnded":
            yield Item("compaction", _compaction(body), name=_text(body, "summary"))
        case "ErrorRaised" | "InputRejected":
            yield Item("error", _text(body, "message") or _text(body, "reason"))
        case "Notice":
            yield Item("note", _text(body, "text") or _text(body, "kind"))
        case "ApprovalRequested":
            yield Item("note", f"Approval asked for {_text(body, 'command') or _text(body, 'kind')}")
        case "ApprovalResolved":
            yield Item("note", f"Approval {_text(body, 'decision') or 'decided'}")
        case "AgentSwitched":
            yield Item("note", f"Agent {_text(body, 'agent_name') or _text(body, 'agent_id')} took over")


def _message(message: Json, executed: set[str]) -> Iterator[Item]:
    role = messages.role_of(message)
    if not isinstance(message, dict) or role == "toolResult":  # the tool shows it
        return
    content = message.get("content")
    blocks: list[Json] = [{"type": "text", "text": content}] if isinstance(content, str) else []
    blocks = content if isinstance(content, list) else blocks
    for block in blocks:
        if isinstance(block, dict):
            yield from _block(block, "answer" if role == "assistant" else "user", executed)
    if error := _text(message, "error_message"):
        yield Item("error", error)


def _block(block: Fields, kind: Kind, executed: set[str]) -> Iterator[Item]:
    match block.get("type"):
        case "text" if _text(block, "text").strip():
            yield Item(kind, _text(block, "text"))
        case "thinking" if _text(block, "thinking").strip():
            yield Item("thinking", _text(block, "thinking"))
        case "toolCall" if _text(block, "id") not in executed:
            arguments = json_text(block.get("arguments"), indent=1)
            yield Item("tool", name=_text(block, "name"), arguments=arguments, state="requested")
        case "image":
            data = _text(block, "data")
            found = images.identify_base64(data) if data else None
            if found is not None and images.decode_base64(data):
                yield Item("image", f"data:{found.mime};base64,{''.join(data.split())}")
            else:
                yield Item("note", "An image that cannot be shown")


def _compaction(body: Fields) -> str:
    before, after = body.get("messages_before"), body.get("messages_after")
    words = [f"{before} messages became {after}"] if before is not None and after is not None else []
    before, after = body.get("estimated_tokens_before"), body.get("estimated_tokens_after")
    if before is not None and after is not None:
        words.append(f"about {before} tokens became {after}")
    return ", ".join(words)


def text_of(content: Json) -> str:
    """Return the text of a tool's result, its other blocks as JSON."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else [] if content is None else [content]
    return "\n".join(
        _text(block, "text") if isinstance(block, dict) and block.get("type") == "text" else json_text(block)
        for block in blocks
    )


def _text(fields: Fields, name: str) -> str:
    return messages.text_field(fields, name)
