"""Writer of phi-core's Session JSON from records and the bodies of journal lines.

The export from the database and the in-memory recorder of tests both use it. Invariant: for the same events
the result equals the session of phi-core's own recorder, apart from ten intended differences
(tests/recorder/core/phi_session/test_phi_core_agreement.py). Cost: linear in the lines of the session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from recorder.core.content import messages
from recorder.core.phi_session import bodies as phi_session_bodies
from recorder.core.phi_session.schema import (
    ChildLoopRefObject,
    EventObject,
    LoopObject,
    ParallelGroupObject,
    SessionObject,
    SpawnRefObject,
    TurnObject,
    UsageObject,
)
from recorder.core.records import (
    ChildRef,
    Compaction,
    EventRecord,
    Group,
    Json,
    Loop,
    Session,
    Status,
    Turn,
)
from recorder.core.spend import Tokens

Body = dict[str, Json]
_STATUS: dict[Status, Literal["Pending", "Running", "Completed", "Rejected", "Aborted"]] = {
    "pending": "Pending",
    "running": "Running",
    "completed": "Completed",
    "rejected": "Rejected",
    "aborted": "Aborted",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A recorded line of a loop and its decoded body."""

    record: EventRecord
    body: Body


@dataclass(frozen=True, slots=True)
class RecordedLoop:
    """The records of one loop; `entries` in recorded order."""

    loop: Loop
    turns: Sequence[Turn]
    refs: Sequence[ChildRef]
    compactions: Sequence[Compaction]
    entries: Sequence[Entry]


@dataclass(frozen=True, slots=True)
class Options:
    """The two options of phi-core's recorder: export of MessageUpdate events, and of request payloads."""

    include_streaming_events: bool = False
    capture_turn_requests: bool = True


DEFAULT = Options()


def session_object(
    session: Session,
    loops: Sequence[Loop],
    recorded: Callable[[Loop], RecordedLoop],
    options: Options = DEFAULT,
) -> SessionObject:
    """Return a Session object. `recorded` is called once for each of `loops`, in order."""
    children = _children(loops)
    return {
        "session_id": session.session_id,
        "agent_id": session.agent_id,
        "created_at": stamp(session.created_at),
        "last_active_at": stamp(session.last_active_at),
        "formation": session.formation,
        "parent_spawn_ref": _spawn_ref(session),
        "scope": session.scope,
        "loops": [_loop_object(recorded(loop), children.get(loop, []), options) for loop in loops],
    }


def stamp(at: datetime) -> str:
    """Format an aware time as RFC 3339 in UTC."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def usage_object(tokens: Tokens) -> UsageObject:
    """Return token counts under phi-core's names."""
    return {
        "input": tokens.input_tokens,
        "output": tokens.output_tokens,
        "reasoning": tokens.reasoning_tokens,
        "cache_read": tokens.cache_read_tokens,
        "cache_write": tokens.cache_write_tokens,
        "total_tokens": tokens.total_tokens,
    }


def loop_object(recorded: RecordedLoop, loops: Sequence[Loop], options: Options = DEFAULT) -> LoopObject:
    """Return one loop as phi-core's LoopRecord. `loops` are all loops of its session, for its children."""
    return _loop_object(recorded, _children(loops).get(recorded.loop, []), options)


def _children(loops: Sequence[Loop]) -> dict[Loop, list[str]]:
    found: dict[Loop, list[str]] = {}
    for loop in loops:
        if loop.parent is not None and loop.parent.loop_id != loop.loop_id:
            found.setdefault(loop.parent, []).append(loop.loop_id)
    return found


def _loop_object(recorded: RecordedLoop, children: list[str], options: Options) -> LoopObject:
    loop = recorded.loop
    bodies = {entry.record.id: entry.body for entry in recorded.entries}
    start, end = bodies.get(loop.start_event or 0, {}), bodies.get(loop.end_event or 0, {})
    has_ended = loop.end_event is not None
    made: LoopObject = {
        "loop_id": loop.loop_id,
        "session_id": loop.session.session_id,
        "agent_id": loop.agent_id,
        "parent_loop_id": loop.parent_loop_id,
        "continuation_kind": _kind(loop),
        "started_at": messages.text_field(start, "timestamp") or stamp(_began(loop)),
        "ended_at": messages.text_field(end, "timestamp")
        or (stamp(loop.ended_at) if loop.ended_at else None),
        "status": _STATUS[loop.status],
        "rejection": messages.text_field(end, "rejection") or loop.rejection,
        "config": loop.config.snapshot if loop.config is not None else None,
        "messages": phi_session_bodies.messages(end.get("messages") or start.get("messages") or []),
        "turns": _turns(recorded, bodies, options),
        "usage": usage_object(loop if has_ended else Tokens()),
        "metadata": loop.metadata,
        "events": _events(recorded, options),
        "children_loop_ids": list(dict.fromkeys(children)),
        "child_loop_refs": [_ref(ref) for ref in recorded.refs],
        "parallel_group": None if loop.group is None else _group(loop, loop.group),
    }
    for compaction in recorded.compactions:
        if compaction.block is not None:
            made["compaction_block"] = compaction.block
    return made


def _turns(recorded: RecordedLoop, bodies: dict[int, Body], options: Options) -> list[TurnObject]:
    inputs: dict[Turn, list[Json]] = {}
    results: dict[Turn, list[Json]] = {}
    has_results = recorded.loop.session.source == "phi-core"  # on TurnEnd, as far as there are any
    for entry in recorded.entries:
        turn, message = entry.record.turn, entry.body.get("message")
        if turn is None:
            continue
        if entry.record.type == "MessageEnd" and messages.role_of(message) != "assistant":
            inputs.setdefault(turn, []).append(phi_session_bodies.message(message))
        elif entry.record.type == "ToolExecutionEnd" and not has_results:
            results.setdefault(turn, []).append(_tool_result(entry))
    return [
        _turn(turn, bodies, inputs.get(turn, []), results.get(turn, []), options)
        for turn in recorded.turns
        if turn.state == "done" and turn.start_event is not None
    ]


def _tool_result(entry: Entry) -> Json:
    """Return the end of a tool call as the message with its result, which other runtimes do not send."""
    body, at = entry.body, entry.record.occurred_at
    result = body.get("result")
    return {
        "role": "toolResult",
        "toolCallId": body.get("tool_call_id"),
        "toolName": body.get("tool_name"),
        "content": result.get("content", []) if isinstance(result, dict) else [],
        "isError": body.get("is_error") is True,
        "timestamp": int(at.timestamp() * 1000) if at is not None else 0,
    }


def _turn(
    turn: Turn, bodies: dict[int, Body], inputs: list[Json], results: list[Json], options: Options
) -> TurnObject:
    start, end = bodies.get(turn.start_event or 0, {}), bodies.get(turn.end_event or 0, {})
    request = bodies.get(turn.request_event or 0)
    made: TurnObject = {
        "turn_id": {"loopId": turn.loop.loop_id, "turnIndex": turn.turn_index},
        "triggered_by": turn.triggered_by,
        "usage": usage_object(turn),
        "input_messages": inputs,
        "output_message": phi_session_bodies.message(end.get("message")),
        "tool_results": [
            _stamped(turn, result)
            for result in (list(messages.iter_messages(end.get("tool_results"))) or results)
        ],
        "started_at": messages.text_field(start, "timestamp") or stamp(turn.started_at),
        "ended_at": messages.text_field(end, "timestamp")
        or (stamp(turn.ended_at) if turn.ended_at else None),
    }
    if options.capture_turn_requests and request is not None:
        made["request_payload"] = request.get("payload")
    return made


def _stamped(turn: Turn, result: Json) -> Json:
    if not isinstance(result, dict):
        return result
    return {**result, "turnId": {"loopId": turn.loop.loop_id, "turnIndex": turn.turn_index}}


def _events(recorded: RecordedLoop, options: Options) -> list[EventObject]:
    shown: Iterable[Entry] = recorded.entries
    if not options.include_streaming_events:
        shown = (entry for entry in recorded.entries if entry.record.type != "MessageUpdate")
    return [{"sequence": n, "event": phi_session_bodies.event(entry.body)} for n, entry in enumerate(shown)]


def _kind(loop: Loop) -> Json:
    if loop.continuation_kind in ("Rerun", "Branch"):
        return {loop.continuation_kind: {"tag": loop.continuation_tag or ""}}
    return loop.continuation_kind


def _began(loop: Loop) -> datetime:
    announced = loop.group.started_at if loop.group is not None else None
    return loop.started_at or announced or loop.session.created_at


def _ref(ref: ChildRef) -> ChildLoopRefObject:
    return {
        "tool_call_id": ref.tool_call_id,
        "tool_name": ref.tool_name,
        "child_loop_id": ref.child_loop_id,
        "child_session_id": ref.child_session_id,
    }


def _group(loop: Loop, group: Group) -> ParallelGroupObject | None:
    if group.status != "completed":
        return None
    return {
        "all_loop_ids": group.loop_ids,
        "selected_loop_id": group.selected_loop_id,
        "selected_config_index": group.selected_config_index or 0,
        "evaluation_usage": usage_object(group),
        "is_selected": loop.loop_id == group.selected_loop_id,
    }


def _spawn_ref(session: Session) -> SpawnRefObject | None:
    if not session.has_spawn:
        return None
    return {
        "parent_session_id": session.parent_session_id,
        "parent_loop_id": session.parent_loop_id,
        "tool_call_id": session.spawn_tool_call_id,
        "tool_name": session.spawn_tool_name,
    }
