"""Workload of the benchmarks: events of agents in phi-core's form, about 1.9 kB each.

A session has five loops, a loop a number of turns; a turn is one model call that asks for two tools.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

TEXT_CHARS = 780
LOOPS_A_SESSION, TURNS = 5, 33
WORDS = "a test fails because the parser keeps its cache so I read the file and change one line of it".split()
CONFIG = {
    "model": "claude-sonnet-4-6",
    "provider": "anthropic",
    "config_id": "anthropic.claude-sonnet-4-6",
    "api": "anthropic_messages",
}

Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Batch:
    """Lines of one producer that are sent together."""

    producer: str
    first: int
    count: int
    body: bytes


def tape(producer: str, events: int, size: int) -> list[Batch]:
    """Return `events` events of a producer in batches of `size`."""
    lines = islice(_lines(producer), events)
    found, first = [], 0
    while part := list(islice(lines, size)):
        found.append(Batch(producer, first, len(part), b"\n".join(part) + b"\n"))
        first += len(part)
    return found


def one_loop(session: str, turns: int) -> Iterator[bytes]:
    """Yield the lines of a session with a single loop of so many turns: twelve lines a turn.

    The last line repeats no messages: those of 3,333 turns would pass the limit of a line.
    """
    chance = random.Random(session)
    texts = [_text(chance) for _ in range(50)]
    for event in _loop(session, f"{session}.anthropic.claude-sonnet-4-6.0", chance, texts, turns):
        if event["type"] == "AgentEnd":
            event["messages"] = []
        yield json.dumps(event, separators=(",", ":")).encode()


def _lines(producer: str) -> Iterator[bytes]:
    chance = random.Random(producer)
    texts = [_text(chance) for _ in range(50)]
    number = 0
    while True:
        session = f"{producer}-{number // LOOPS_A_SESSION}"
        for event in _loop(session, f"{session}.anthropic.claude-sonnet-4-6.{number}", chance, texts):
            yield json.dumps(event, separators=(",", ":")).encode()
        number += 1


def _loop(
    session: str, loop: str, chance: random.Random, texts: list[str], turns: int = TURNS
) -> Iterator[Event]:
    about: Event = {"agent_id": "bench", "session_id": session, "parent_loop_id": None, "metadata": None}
    about |= {"continuation_kind": "Initial", "timestamp": _now(), "config_snapshot": CONFIG}
    yield {"type": "AgentStart", "loop_id": loop, **about}
    messages: list[Event] = []
    for index in range(turns):
        for event in _turn(index, chance, texts, messages):
            yield {"type": event.pop("type"), "loop_id": loop, **event}
    end = {"messages": messages, "usage": _usage(chance), "timestamp": _now(), "rejection": None}
    yield {"type": "AgentEnd", "loop_id": loop, **end}


def _turn(index: int, chance: random.Random, texts: list[str], messages: list[Event]) -> Iterable[Event]:
    yield {"type": "TurnStart", "turn_index": index, "timestamp": _now(), "triggered_by": "User"}
    if index == 0:
        prompt = {"role": "user", "content": _content(chance.choice(texts)), "timestamp": 1}
        messages.append(prompt)
        yield from _message(prompt, prompt)
    calls = [f"call-{index}-{n}-{chance.randrange(2**32)}" for n in range(2)]
    args = {call: {"input": chance.choice(texts)} for call in calls}
    message = _answer(chance, texts, args)
    yield from _message(message | {"content": []}, message)
    results = []
    for call in calls:
        content = _content(chance.choice(texts))
        tool = {"tool_call_id": call, "tool_name": "bash"}
        result = {"role": "toolResult", "toolCallId": call, "toolName": "bash", "content": content}
        result |= {"isError": False, "timestamp": 2}
        results.append(result)
        yield {"type": "ToolExecutionStart", **tool, "args": args[call]}
        done = {"result": {"content": content, "details": None}, "is_error": False}
        yield {"type": "ToolExecutionEnd", **tool, **done, "child_loop_id": None}
        yield from _message(result, result)
    messages += [message, *results]
    end = {"message": message, "usage": message["usage"], "timestamp": _now(), "tool_results": results}
    yield {"type": "TurnEnd", **end}


def _message(begun: Event, done: Event) -> Iterable[Event]:
    yield {"type": "MessageStart", "message": begun}
    yield {"type": "MessageEnd", "message": done}


def _answer(chance: random.Random, texts: list[str], args: dict[str, Event]) -> Event:
    tool_calls = [
        {"type": "toolCall", "id": call, "name": "bash", "arguments": arguments}
        for call, arguments in args.items()
    ]
    thought = {"type": "thinking", "thinking": chance.choice(texts)}
    message: Event = {"role": "assistant", "content": [thought, *_content(chance.choice(texts)), *tool_calls]}
    message |= {"stopReason": "toolUse", "model": CONFIG["model"], "provider": CONFIG["provider"]}
    return message | {"usage": _usage(chance), "timestamp": 1}


def _usage(chance: random.Random) -> Event:
    read, wrote = chance.randrange(100, 9000), chance.randrange(10, 900)
    tokens = {"input": read, "output": wrote, "reasoning": 0, "cache_read": read // 2, "cache_write": 0}
    return tokens | {"total_tokens": read + wrote}


def _content(text: str) -> list[Event]:
    return [{"type": "text", "text": text}]


def _text(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=TEXT_CHARS // 4))[:TEXT_CHARS]


def _now() -> str:
    return datetime.fromtimestamp(time.time(), UTC).isoformat().replace("+00:00", "Z")
