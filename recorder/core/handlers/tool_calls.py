"""Tool executions, and the sub-agents that they run."""

from __future__ import annotations

from collections.abc import Collection

from recorder.core.content.fingerprints import arguments_key
from recorder.core.content.text import clean, excerpt, one_line
from recorder.core.context import EventContext
from recorder.core.events import ProgressMessage, ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from recorder.core.events.fields import is_id
from recorder.core.handlers import approvals, lineage, sessions, turns
from recorder.core.records import ChildRef, Loop, ToolCall, Turn


def start(context: EventContext, event: ToolExecutionStart, loop: Loop) -> Turn | None:
    """Start a tool call; one with the same id that still runs is cut."""
    turn, at, call_id = turns.open_turn(context, loop), event.timestamp, event.tool_call_id
    twin = _running(context, loop).pop(call_id, None)
    if twin is not None:
        twin.state = "cut"
        context.touch(twin)
    tool = _new_call(event, loop)
    tool.turn = turn
    tool.summary, tool.arguments_key = one_line(event.args), arguments_key(event.args)
    tool.started_at, tool.times_received = at or context.received_at, at is None
    tool.start_event = context.id
    context.add(tool)
    loop.tool_calls += 1
    loop.session.tool_calls += 1
    if turn is not None:
        turn.tool_calls += 1
        context.touch(turn)
    approvals.grant_by_tool_start(context, loop, call_id, at)
    sessions.set_activity(loop, tool.tool_name, tool.summary)
    return turn


def update(context: EventContext, event: ToolExecutionUpdate, loop: Loop) -> Turn | None:
    """Note a partial result of a running tool."""
    tool = _running(context, loop).get(event.tool_call_id)
    if tool is not None:
        tool.update_event = context.id
        context.touch(tool)
    return turns.open_turn(context, loop)


def progress(context: EventContext, event: ProgressMessage, loop: Loop) -> Turn | None:
    """Set the progress text of a running tool."""
    tool = _running(context, loop).get(event.tool_call_id)
    if tool is not None:
        tool.progress = excerpt(event.text, 500)
        context.touch(tool)
    sessions.set_activity(loop, f"{event.tool_name}: {event.text}" if event.tool_name else event.text)
    return turns.open_turn(context, loop)


def reopen(context: EventContext, loop: Loop, tool_call_ids: Collection[str]) -> None:
    """Continue the calls that were cut when their loop ended, which goes on."""
    cut_parts = context.state.cut_parts.get(loop, {})
    last = {
        cut.tool_call_id: cut
        for cut in cut_parts
        if isinstance(cut, ToolCall) and cut.tool_call_id in tool_call_ids and cut.state == "cut"
    }
    for tool in last.values():
        del cut_parts[tool]
        tool.state = "running"
        context.add(tool)


def end(context: EventContext, event: ToolExecutionEnd, loop: Loop) -> Turn | None:
    """End a tool call; one that never started was denied and does not count as an execution."""
    tool = _running(context, loop).pop(event.tool_call_id, None)
    turn = turns.open_turn(context, loop)
    if tool is not None and not event.has_begun:
        _uncount_start(context, tool)
    if tool is None:
        tool = _new_call(event, loop)
        tool.turn = turn
        approvals.deny_by_tool_end(context, loop, event.tool_call_id, event.timestamp)
    _end_call(context, tool, event)
    result = event.result
    child_id = result.get("child_loop_id") if isinstance(result, dict) else None
    if is_id(child_id):
        lineage.add_child_ref(context, _child_ref(context, event, loop, child_id))
    return turn


def _end_call(context: EventContext, tool: ToolCall, event: ToolExecutionEnd) -> None:
    at, has_failed = event.timestamp, event.is_error
    tool.state = "failed" if has_failed else "done"
    tool.ended_at, tool.end_event = at or context.received_at, context.id
    if at is None:
        tool.times_received = True
    tool.duration_ms = event.duration_ms
    if tool.duration_ms is None and tool.started_at is not None:
        tool.duration_ms = max(0, round((tool.ended_at - tool.started_at).total_seconds() * 1000))
    if has_failed and tool.start_event is not None:
        tool.loop.errors += 1
        tool.loop.session.errors += 1
        if tool.turn is not None:
            tool.turn.tool_errors += 1
            context.touch(tool.turn)
    context.touch(tool)


def _uncount_start(context: EventContext, tool: ToolCall) -> None:
    """Take back the start of a call that was refused before it began."""
    tool.start_event, tool.started_at, tool.summary, tool.arguments_key = None, None, "", ""
    tool.loop.tool_calls -= 1
    tool.loop.session.tool_calls -= 1
    if tool.turn is not None:
        tool.turn.tool_calls -= 1
        context.touch(tool.turn)


def _running(context: EventContext, loop: Loop) -> dict[str, ToolCall]:
    return context.state.running_tools.get(loop, {})


def _new_call(event: ToolExecutionStart | ToolExecutionEnd, loop: Loop) -> ToolCall:
    return ToolCall(loop=loop, tool_call_id=event.tool_call_id, tool_name=clean(event.tool_name, 512))


def _child_ref(context: EventContext, event: ToolExecutionEnd, loop: Loop, child_id: str) -> ChildRef:
    return ChildRef(
        loop=loop,
        tool_call_id=event.tool_call_id,
        tool_name=clean(event.tool_name, 512),
        child_loop_id=child_id,
        child_session_id=lineage.session_id_of(child_id),
        event=context.id,
    )
