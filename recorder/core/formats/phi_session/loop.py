"""Conversion of one LoopRecord of a phi-core session file to native event lines.

A loop with `events` is converted from them. A loop without is reconstructed from its `turns`, and a loop
without turns from its `messages`; it then gets no TurnStart events, so that its export has no turns either.
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
    """A line with the sort key by which the lines of several loops are merged."""

    at: int  # nanoseconds since 1970
    rank: int  # 0 group start, 1 loop, 2 group end: a group encloses its branches at equal times
    line: bytes


@dataclass(frozen=True, slots=True)
class LoopLines:
    """The lines of one loop. `file_only` are those whose content no live event carries."""

    loop_id: str
    started_at: datetime
    status: str
    lines: list[TimedLine]
    file_only: list[bytes]
    is_reconstructed: bool = False  # the file holds no events of the loop

    @property
    def is_open(self) -> bool:
        return self.status in ("Running", "Pending")


@dataclass(slots=True)
class _LineWriter:
    """Collects the lines of one loop. Times never decrease: an earlier time counts as the last one."""

    loop_id: str
    now: int
    lines: list[TimedLine] = field(default_factory=list)

    def add(self, event: Object, at: int | None = None) -> None:
        self.now = max(self.now, at or 0)
        self.lines.append(TimedLine(self.now, 1, wire_line(event)))

    def write(self, kind: str, **fields: Json) -> None:
        at = fields.get("timestamp")
        self.add({"type": kind, "loop_id": self.loop_id, **fields}, nanoseconds(at))


def loop_lines(loop: Object, path: str) -> LoopLines:
    """Return the lines of one LoopRecord. `path` is its JSON path, for error messages.

    Raises:
        InvalidLineError: the id or the start time is missing or malformed.
    """
    loop_id = text_at(loop, "loop_id", path)
    started, started_at = nanoseconds(loop.get("started_at")), parse_timestamp(str(loop.get("started_at")))
    if started is None or started_at is None:
        refuse("bad_timestamp", f"{path}.started_at", "not an RFC 3339 time with a zone")
    writer = _LineWriter(loop_id, started)
    events = [object_at(each.get("event"), path) for each in objects(loop, "events")]
    status = str(loop.get("status", "Completed"))
    block = _block(loop)
    if events:
        _replay(writer, loop, events, block)
    else:
        _write_loop(writer, loop, block)
    file_only = [wire_line(block)] if block else []
    return LoopLines(loop_id, started_at, status, writer.lines, file_only, is_reconstructed=not events)


def _replay(writer: _LineWriter, loop: Object, events: list[Object], block: Object | None) -> None:
    if events[0].get("type") != "AgentStart":
        writer.add(_start(loop))
    end = next((i for i, event in enumerate(events) if event.get("type") == "AgentEnd"), len(events))
    for event, at in zip(events[:end], _times(events[:end]), strict=True):
        writer.add(event, at)
    _write_children(writer, loop, {str(event.get("tool_call_id")) for event in events if _child(event)})
    if block:
        writer.add(block)
    for event in events[end:]:
        writer.add(event, nanoseconds(event.get("timestamp")))
    if end == len(events):
        _write_end(writer, loop)


def _times(events: list[Object]) -> list[int | None]:
    """Return the time of each event in nanoseconds. A tool without one ends when the next event happens."""
    times = [nanoseconds(event.get("timestamp")) or message_time(event.get("message")) for event in events]
    for i in reversed(range(len(events) - 1)):
        if events[i].get("type") == "ToolExecutionEnd" and times[i] is None:
            times[i] = times[i + 1]
    return times


def _write_loop(writer: _LineWriter, loop: Object, block: Object | None) -> None:
    writer.add(_start(loop))
    children = {str(each.get("tool_call_id")): each for each in objects(loop, "child_loop_refs")}
    ended_calls: set[str] = set()
    turns = objects(loop, "turns")
    for turn in turns:
        _write_turn(writer, turn, children, ended_calls)
    if not turns:
        _write_messages(writer, loop, children, ended_calls)
    _write_children(writer, loop, ended_calls)
    if block:
        writer.add(block)
    _write_end(writer, loop)


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


def _write_end(writer: _LineWriter, loop: Object) -> None:
    if loop.get("status", "Completed") not in _ENDED:
        return
    ended_at = loop.get("ended_at")
    writer.write(
        "AgentEnd",
        messages=loop.get("messages") or [],
        usage=loop.get("usage") or {"input": 0, "output": 0},
        timestamp=ended_at if nanoseconds(ended_at) else rfc3339(writer.now),
        rejection=loop.get("rejection"),
    )


def _write_turn(
    writer: _LineWriter, turn: Object, children: dict[str, Object], ended_calls: set[str]
) -> None:
    turn_id = turn.get("turn_id")
    index = turn_id.get("turnIndex", 0) if isinstance(turn_id, dict) else 0
    started_at = turn.get("started_at")
    writer.write(
        "TurnStart", turn_index=index, timestamp=started_at, triggered_by=turn.get("triggered_by") or "User"
    )
    inputs, output = objects(turn, "input_messages"), turn.get("output_message")
    prompts = [each for each in inputs if each.get("role") != "toolResult"]
    for message in prompts:
        writer.write("MessageEnd", message=message)
    if turn.get("request_payload") is not None:
        writer.write("TurnRequest", turn_index=index, payload=turn["request_payload"], timestamp=started_at)
    results = [each for each in inputs if each.get("role") == "toolResult"]
    if isinstance(output, dict):
        writer.write("MessageEnd", message=output)
        _write_tools(writer, output, results or objects(turn, "tool_results"), children, ended_calls)
    for message in results:
        writer.write("MessageEnd", message=message)
    writer.write(
        "TurnEnd",
        turn_index=index,
        message=output,
        usage=turn.get("usage") or {"input": 0, "output": 0},
        timestamp=turn.get("ended_at") or started_at,
        tool_results=turn.get("tool_results") or [],
    )


def _write_messages(
    writer: _LineWriter, loop: Object, children: dict[str, Object], ended_calls: set[str]
) -> None:
    messages = objects(loop, "messages")
    ended = loop.get("status", "Completed") in _ENDED
    for i, message in enumerate(messages):
        writer.write("MessageEnd", message=message)
        if message.get("role") != "assistant":
            continue
        results = _results_after(messages, i)
        _write_tools(writer, message, results, children, ended_calls)
        if ended:
            at = message_time((results or [message])[-1]) or writer.now
            writer.write(
                "TurnEnd",
                message=message,
                usage=message.get("usage") or {"input": 0, "output": 0},
                timestamp=rfc3339(max(at, writer.now)),
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


def _write_tools(
    writer: _LineWriter,
    message: Object,
    results: list[Object],
    children: dict[str, Object],
    ended_calls: set[str],
) -> None:
    """Write the tool executions of a message's calls. Ids of calls with a result go to `ended_calls`."""
    begun = message_time(message)
    for call in objects(message, "content"):
        if call.get("type") == "toolCall":
            start: Object = {"tool_call_id": call.get("id"), "tool_name": call.get("name", "")}
            writer.write("ToolExecutionStart", **start, args=call.get("arguments"), **at_time(begun))
    for result in results:
        call_id = str(result.get("toolCallId"))
        ended_calls.add(call_id)
        writer.write(
            "ToolExecutionEnd",
            tool_call_id=call_id,
            tool_name=result.get("toolName", ""),
            result=_result(result.get("content") or [], children.get(call_id)),
            is_error=result.get("isError") is True,
            **at_time(message_time(result)),
        )


def _write_children(writer: _LineWriter, loop: Object, ended_calls: set[str]) -> None:
    for ref in objects(loop, "child_loop_refs"):
        if str(ref.get("tool_call_id")) not in ended_calls:
            writer.write(
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
