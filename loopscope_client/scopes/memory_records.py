"""Loops, turns and tool calls as they can be read from the events of a client; tests look at them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from loopscope_client.scopes.messages import text_in

Event: TypeAlias = dict[str, object]


@dataclass(slots=True)
class RecordedToolCall:
    """A tool call; `result` is its text, None while it runs."""

    id: str
    name: str
    args: object
    result: str | None = None
    is_error: bool = False


@dataclass(slots=True)
class RecordedTurn:
    """A turn; `answer` is its text and `usage` its tokens by name, None while it runs."""

    answer: str | None = None
    usage: object = None
    tool_calls: list[RecordedToolCall] = field(default_factory=list)


@dataclass(slots=True)
class RecordedLoop:
    """A loop; `outcome` is completed, failed, cancelled or rejected, None while it runs.

    `prompts` are the texts of the user, `tool_calls` those of its turns and between them.
    """

    id: str
    session: str
    agent: str
    config: Event  # model, provider and settings
    outcome: str | None = None
    error: str = ""
    prompts: list[str] = field(default_factory=list)
    turns: list[RecordedTurn] = field(default_factory=list)
    tool_calls: list[RecordedToolCall] = field(default_factory=list)


def loops_in(events: Iterable[Event]) -> list[RecordedLoop]:
    """Return the loops of events as they started; events of a loop that did not start are left out."""
    loops: dict[str, RecordedLoop] = {}
    running: dict[tuple[str, str], RecordedToolCall] = {}
    for event in events:
        key = str(event.get("loop_id"))
        if event.get("type") == "AgentStart":
            session, agent = str(event.get("session_id")), str(event.get("agent_id"))
            loops[key] = RecordedLoop(key, session, agent, _object(event, "config_snapshot"))
        elif key in loops:
            _add(loops[key], event, running)
    return list(loops.values())


def open_parts(loop: RecordedLoop) -> Iterator[str]:
    """Yield a sentence for each part of a loop that has no end."""
    missing = f"of loop {loop.id} has no end"
    yield from (f"a call of {call.name} {missing}" for call in loop.tool_calls if call.result is None)
    yield from (f"turn {number} {missing}" for number, turn in enumerate(loop.turns) if turn.answer is None)
    if loop.outcome is None:
        yield f"loop {loop.id} has no end"


def _add(loop: RecordedLoop, event: Event, running: dict[tuple[str, str], RecordedToolCall]) -> None:
    turn = loop.turns[-1] if loop.turns and loop.turns[-1].answer is None else None
    message, call = _object(event, "message"), str(event.get("tool_call_id"))
    match event.get("type"):
        case "TurnStart":
            loop.turns.append(RecordedTurn())
        case "TurnEnd" if turn is not None:
            turn.answer, turn.usage = text_in(message.get("content")), event.get("usage")
        case "MessageEnd" if message.get("role") == "user":
            loop.prompts.append(text_in(message.get("content")))
        case "ToolExecutionStart":
            begun = RecordedToolCall(call, str(event.get("tool_name")), event.get("args"))
            running[loop.id, call] = begun
            loop.tool_calls.append(begun)
            if turn is not None:
                turn.tool_calls.append(begun)
        case "ToolExecutionEnd" if (ended := running.pop((loop.id, call), None)) is not None:
            ended.result = text_in(_object(event, "result").get("content"))
            ended.is_error = event.get("is_error") is True
        case "AgentEnd":
            rejection = event.get("rejection")
            loop.outcome = "rejected" if rejection else str(event.get("outcome") or "completed")
            loop.error = str(rejection or event.get("error") or "")


def _object(fields: Event, name: str) -> Event:
    value = fields.get(name)
    return value if isinstance(value, dict) else {}
