"""One loop of a phi-core session file, told as native event lines.

A loop saved with its live events is replayed from them. One without is told from its turns, and one without
turns from its messages: then no TurnStart is made up, so that its export has no turns either.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from recorder.core.events.fields import parse_timestamp
from recorder.core.formats.phi_session.json import (
    Object,
    at_time,
    message_time,
    nanoseconds,
    object_at,
    objects,
    refuse,
    rfc3339,
    text_at,
    wire_line,
)
from recorder.core.records import Json

_ENDED = ("Completed", "Rejected")


@dataclass(frozen=True, slots=True)
class TimedLine:
    """A line and when it was said, in nanoseconds, for weaving loops together."""

    at: int
    rank: int  # at the same time: a group starts before its branches and ends after them
    line: bytes


@dataclass(frozen=True, slots=True)
class LoopLines:
    """One loop of a file. `only_here` are the lines whose content is on no wire."""

    loop_id: str
    started_at: datetime
    status: str
    lines: list[TimedLine]
    file_only: list[bytes]
    is_reconstructed: bool = False  # from its messages: the file has no events of it

    @property
    def is_open(self) -> bool:
        return self.status in ("Running", "Pending")


@dataclass(slots=True)
class _LineWriter:
    """Collects one loop's lines; time never goes back."""

    loop_id: str
    now: int
    lines: list[TimedLine] = field(default_factory=list)

    def say(self, event: Object, at: int | None = None) -> None:
        self.now = max(self.now, at or 0)
        self.lines.append(TimedLine(self.now, 1, wire_line(event)))

    def tell(self, kind: str, **fields: Json) -> None:
        at = fields.get("timestamp")
        self.say({"type": kind, "loop_id": self.loop_id, **fields}, nanoseconds(at))


def loop_lines(loop: Object, path: str) -> LoopLines:
    """Return the lines of one LoopRecord. Raises Refused."""
    loop_id = text_at(loop, "loop_id", path)
    started, started_at = nanoseconds(loop.get("started_at")), parse_timestamp(str(loop.get("started_at")))
    if started is None or started_at is None:
        refuse("bad_timestamp", f"{path}.started_at", "no RFC 3339 time with a zone")
    teller = _LineWriter(loop_id, started)
    events = [object_at(each.get("event"), path) for each in objects(loop, "events")]
    status = str(loop.get("status", "Completed"))
    block = _block(loop)
    if events:
        _replay(teller, loop, events, block)
    else:
        _tell(teller, loop, block)
    file_only = [wire_line(block)] if block else []
    return LoopLines(loop_id, started_at, status, teller.lines, file_only, is_reconstructed=not events)


def _replay(teller: _LineWriter, loop: Object, events: list[Object], block: Object | None) -> None:
    if events[0].get("type") != "AgentStart":
        teller.say(_start(loop))
    end = next((i for i, event in enumerate(events) if event.get("type") == "AgentEnd"), len(events))
    for event, at in zip(events[:end], _times(events[:end]), strict=True):
        teller.say(event, at)
    _tell_children(teller, loop, {str(event.get("tool_call_id")) for event in events if _child(event)})
    if block:
        teller.say(block)
    for event in events[end:]:
        teller.say(event, nanoseconds(event.get("timestamp")))
    if end == len(events):
        _tell_end(teller, loop)


def _times(events: list[Object]) -> list[int | None]:
    """Return when each event was said; a tool ends when its result message is made, which follows it."""
    known = [nanoseconds(event.get("timestamp")) or message_time(event.get("message")) for event in events]
    for i in reversed(range(len(events) - 1)):
        if events[i].get("type") == "ToolExecutionEnd" and known[i] is None:
            known[i] = known[i + 1]
    return known


def _tell(teller: _LineWriter, loop: Object, block: Object | None) -> None:
    teller.say(_start(loop))
    children = {str(each.get("tool_call_id")): each for each in objects(loop, "child_loop_refs")}
    told: set[str] = set()
    turns = objects(loop, "turns")
    for turn in turns:
        _tell_turn(teller, turn, children, told)
    if not turns:
        _tell_messages(teller, loop, children, told)
    _tell_children(teller, loop, told)
    if block:
        teller.say(block)
    _tell_end(teller, loop)


def _start(loop: Object) -> Object:
    event: Object = {
        "type": "AgentStart",
        "agent_id": loop.get("agent_id", ""),
        "session_id": loop.get("session_id", ""),
        "loop_id": loop["loop_id"],
        "parent_loop_id": loop.get("parent_loop_id"),
        "continuation_kind": loop.get("continuation_kind") or "Initial",
        "timestamp": loop["started_at"],
        "metadata": loop.get("metadata"),
    }
    if loop.get("config") is not None:
        event["config_snapshot"] = loop["config"]
    if loop.get("status") not in _ENDED and loop.get("messages"):
        event["messages"] = loop["messages"]
    return event


def _tell_end(teller: _LineWriter, loop: Object) -> None:
    if loop.get("status", "Completed") not in _ENDED:
        return
    ended_at = loop.get("ended_at")
    teller.tell(
        "AgentEnd",
        messages=loop.get("messages") or [],
        usage=loop.get("usage") or {"input": 0, "output": 0},
        timestamp=ended_at if nanoseconds(ended_at) else rfc3339(teller.now),
        rejection=loop.get("rejection"),
    )


def _tell_turn(teller: _LineWriter, turn: Object, children: dict[str, Object], told: set[str]) -> None:
    turn_id = turn.get("turn_id")
    index = turn_id.get("turnIndex", 0) if isinstance(turn_id, dict) else 0
    started_at = turn.get("started_at")
    teller.tell(
        "TurnStart", turn_index=index, timestamp=started_at, triggered_by=turn.get("triggered_by") or "User"
    )
    inputs, output = objects(turn, "input_messages"), turn.get("output_message")
    prompts = [each for each in inputs if each.get("role") != "toolResult"]
    for message in prompts:
        teller.tell("MessageEnd", message=message)
    if turn.get("request_payload") is not None:
        teller.tell("TurnRequest", turn_index=index, payload=turn["request_payload"], timestamp=started_at)
    results = [each for each in inputs if each.get("role") == "toolResult"]
    if isinstance(output, dict):
        teller.tell("MessageEnd", message=output)
        _tell_tools(teller, output, results or objects(turn, "tool_results"), children, told)
    for message in results:
        teller.tell("MessageEnd", message=message)
    teller.tell(
        "TurnEnd",
        turn_index=index,
        message=output,
        usage=turn.get("usage") or {"input": 0, "output": 0},
        timestamp=turn.get("ended_at") or started_at,
        tool_results=turn.get("tool_results") or [],
    )


def _tell_messages(teller: _LineWriter, loop: Object, children: dict[str, Object], told: set[str]) -> None:
    messages = objects(loop, "messages")
    ended = loop.get("status", "Completed") in _ENDED
    for i, message in enumerate(messages):
        teller.tell("MessageEnd", message=message)
        if message.get("role") != "assistant":
            continue
        results = _results_after(messages, i)
        _tell_tools(teller, message, results, children, told)
        if ended:
            at = message_time((results or [message])[-1]) or teller.now
            teller.tell(
                "TurnEnd",
                message=message,
                usage=message.get("usage") or {"input": 0, "output": 0},
                timestamp=rfc3339(max(at, teller.now)),
                tool_results=list[Json](results),
            )


def _results_after(messages: list[Object], i: int) -> list[Object]:
    results = []
    for message in messages[i + 1 :]:
        if message.get("role") == "assistant":
            break
        if message.get("role") == "toolResult":
            results.append(message)
    return results


def _tell_tools(
    teller: _LineWriter, message: Object, results: list[Object], children: dict[str, Object], told: set[str]
) -> None:
    """Tell the executions behind a message's calls, which end in the order of their results."""
    begun = message_time(message)
    for call in objects(message, "content"):
        if call.get("type") == "toolCall":
            start: Object = {"tool_call_id": call.get("id"), "tool_name": call.get("name", "")}
            teller.tell("ToolExecutionStart", **start, args=call.get("arguments"), **at_time(begun))
    for result in results:
        call_id = str(result.get("toolCallId"))
        told.add(call_id)
        teller.tell(
            "ToolExecutionEnd",
            tool_call_id=call_id,
            tool_name=result.get("toolName", ""),
            result=_result(result.get("content") or [], children.get(call_id)),
            is_error=result.get("isError") is True,
            **at_time(message_time(result)),
        )


def _tell_children(teller: _LineWriter, loop: Object, told: set[str]) -> None:
    for ref in objects(loop, "child_loop_refs"):
        if str(ref.get("tool_call_id")) not in told:
            teller.tell(
                "ToolExecutionEnd",
                tool_call_id=ref.get("tool_call_id"),
                tool_name=ref.get("tool_name"),
                result=_result([], ref),
                is_error=False,
            )


def _result(content: Json, child: Object | None) -> Object:
    result: Object = {"content": content, "details": None}
    return result | {"child_loop_id": child.get("child_loop_id")} if child else result


def _child(event: Object) -> bool:
    result = event.get("result")
    return isinstance(result, dict) and result.get("child_loop_id") is not None


def _block(loop: Object) -> Object | None:
    block = loop.get("compaction_block")
    if not isinstance(block, dict):
        return None
    counts = ("messages_before", "messages_after", "estimated_tokens_before", "estimated_tokens_after")
    made_at = block.get("createdAt")
    return {
        "type": "CompactionEnded",
        "loop_id": loop["loop_id"],
        **dict.fromkeys((*counts, "loops_compacted")),
        "timestamp": made_at if nanoseconds(made_at) else loop["started_at"],
        "block": block,
    }
