"""The requests of ended calls, as their records and lines say.

A recorded request is read from its line. Else its messages are inferred from what was recorded before
the call: the answer of the call before, the results of its tools, and the prompts of this turn.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import NamedTuple

from recorder.core.content import messages
from recorder.core.ledger.blocks import (
    UNRECORDED,
    Block,
    Request,
    ToolCall,
    blocks_of_message,
    fixed_blocks,
    named,
    read_request,
    settings_of,
)
from recorder.core.ledger.reasons import reason_of
from recorder.core.ledger.window import Call, Held, Window
from recorder.core.records import Json
from recorder.database import sql
from recorder.journal.read import texts
from recorder.ledger.turns import Turn
from recorder.search.documents import decode

_EVENTS = """SELECT id, type FROM recorder_eventrecord WHERE loop_id = %s AND id > %s AND id < %s
AND origin NOT IN ('told', 'kept')
AND type IN ('MessageEnd', 'ToolExecutionEnd', 'TurnEnd', 'CompactionEnded', 'PrunApplied', 'RevertApplied')
ORDER BY id"""
HALF = 2  # a request of less than a half of the one before is another history
READ = ("MessageEnd", "ToolExecutionEnd", "TurnEnd", "CompactionEnded")
FIXED = ("tool_definition", "system")


class Earlier(NamedTuple):
    """The call before: its loop, and the lines with which it started and ended."""

    loop: int
    start_event: int
    end_event: int
    request_event: int | None


class _Line(NamedTuple):
    """A line between two calls."""

    id: int
    type: str
    event: Mapping[str, Json]


def call_of(turn: Turn, window: Window, earlier: Earlier | None) -> Call:
    """Return the call of a turn, as `Window.add` takes it. About five queries."""
    between = _between(turn, earlier)
    payload, request, reason = _recorded(turn)
    if request is None:
        since = _since_answer(_lines(between), earlier)
        request = _derived(turn, window, payload, since)
        kinds = {line.type for line in since}
    else:
        kinds = {kind for line, kind in between if _sent(earlier) < line < (turn.request_event or 0)}
    request = replace(request, blocks=_named(request.blocks, window, turn), model=turn.model or request.model)
    return Call(
        request=request,
        provider=turn.provider,
        started_at=turn.started_at,
        prompt=turn.prompt,
        visible=turn.visible,
        cache_read=turn.cache_read,
        cache_write=turn.cache_write,
        cache_write_1h=turn.cache_write_1h,
        reasoning=turn.reasoning,
        compacted="CompactionEnded" in kinds,
        pruned=bool(kinds & {"PrunApplied", "RevertApplied"}),
        reason=reason,
    )


def _sent(earlier: Earlier | None) -> int:
    """Return the line behind which a change shows in the next request for the first time."""
    if earlier is None:
        return 0
    return earlier.end_event if earlier.request_event is None else earlier.request_event


def _between(turn: Turn, earlier: Earlier | None) -> list[tuple[int, str]]:
    """Return the lines from the start of the call before to the end of this one."""
    if earlier is None:
        return _events(turn.loop, 0, turn.end_event)
    if earlier.loop == turn.loop:
        return _events(turn.loop, earlier.start_event - 1, turn.end_event)
    before = _events(earlier.loop, earlier.start_event - 1, turn.end_event)
    return [*before, *_events(turn.loop, 0, turn.end_event)]


def _events(loop: int, after: int, before: int) -> list[tuple[int, str]]:
    return [(line, kind) for line, kind in sql.read(_EVENTS, loop, after, before)]


def _lines(between: Sequence[tuple[int, str]]) -> list[_Line]:
    raws = texts([line for line, kind in between if kind in READ])
    return [_Line(line, kind, decode(raws[line]) if line in raws else {}) for line, kind in between]


def _recorded(turn: Turn) -> tuple[Mapping[str, Json], Request | None, str]:
    """Return the payload of the recorded request, the request if it has messages, and the provider's reason.

    The reason is in the line that ends the call. One query.
    """
    lines = [turn.end_event, *([] if turn.request_event is None else [turn.request_event])]
    raws = texts(lines)
    reason = reason_of(decode(raws.get(turn.end_event, b"")))
    raw = None if turn.request_event is None else raws.get(turn.request_event)
    payload = decode(raw).get("payload") if raw is not None else None
    if not isinstance(payload, dict):
        return {}, None, reason
    request = read_request(payload)
    if request is None:
        return payload, None, reason
    blocks = [replace(block, event=turn.request_event) for block in request.blocks]
    return payload, replace(request, blocks=blocks), reason


def _derived(
    turn: Turn,
    window: Window,
    payload: Mapping[str, Json],
    since: Sequence[_Line],
) -> Request:
    """Return the request as it follows from what was recorded: the window before, and the messages since."""
    fixed = [replace(block, event=turn.request_event) for block, _ in fixed_blocks(payload)]
    if not fixed and not payload.get("is_shape_missing"):  # as in the request before
        fixed = [_block_in_window(held) for held in window.held if held.kind in FIXED]
    if not fixed:
        fixed = [Block("system", UNRECORDED, 0, UNRECORDED)]
    ended = [index for index, line in enumerate(since) if line.type == "CompactionEnded"]
    if ended:
        summary = since[ended[-1]]
        kept = [_summary(summary)]
        since = since[ended[-1] + 1 :]
    else:
        kept = [_block_in_window(held) for held in window.held if held.kind not in FIXED]
    new = [
        replace(block, event=line)
        for line, message in _messages(since)
        for block, _ in blocks_of_message(message, -1)
    ]
    is_other = _is_another_history(turn, window, new) and not ended
    model = messages.text_field(dict(payload), "model_id")
    return Request(
        model, settings_of(payload), [*fixed, *([] if is_other else kept), *new], is_recorded=False
    )


def _block_in_window(held: Held) -> Block:
    """Return a block that is in the window already, found by its key."""
    return Block(held.kind, held.key, 0)


def _summary(line: _Line) -> Block:
    text = line.event.get("summary")
    if not isinstance(text, str) or not text or text.startswith(messages.ENCRYPTED_SUMMARY):
        return Block("compaction_summary", f"{line.id:016x}", 0, UNRECORDED, event=line.id)
    found = next(block for block, _ in blocks_of_message({"role": "user", "content": text}, -1))
    return replace(found, kind="compaction_summary", event=line.id)


def _is_another_history(turn: Turn, window: Window, new: Sequence[Block]) -> bool:
    """Return whether a request is so small that it cannot hold the window before."""
    if turn.prompt is None or window.prompt is None or not new:
        return False
    return turn.prompt * HALF < window.prompt


def _since_answer(lines: Sequence[_Line], earlier: Earlier | None) -> list[_Line]:
    """Return what was recorded from the answer of the call before to that of this call."""
    upto = [line for line in lines if not (line.type == "TurnEnd" and line.id != _end(earlier))]
    if earlier is None:
        return _before_answer(upto)
    here = [line for line in upto if line.id > earlier.end_event]
    before = [line for line in upto if line.id <= earlier.end_event]
    answers = [index for index, line in enumerate(before) if _is_answer(line)]
    if answers:
        before = [line for line in before[answers[0] :] if line.type != "TurnEnd"]
    else:  # only the end of the call has its answer
        before = [line for line in before if line.type in ("TurnEnd", "ToolExecutionEnd")]
        before.sort(key=lambda line: line.type != "TurnEnd")
    return [*before, *_before_answer(here)]


def _end(earlier: Earlier | None) -> int:
    return earlier.end_event if earlier else 0


def _before_answer(lines: Sequence[_Line]) -> list[_Line]:
    return list(takewhile(lambda line: not _is_answer(line), lines))


def _is_answer(line: _Line) -> bool:
    return line.type == "MessageEnd" and messages.role_of(line.event.get("message")) == "assistant"


def _messages(lines: Sequence[_Line]) -> Iterator[tuple[int, Json]]:
    """Yield the messages of lines, each result of a tool once."""
    inferred = {
        messages.text_field(message, "toolCallId")
        for line in lines
        if isinstance(message := line.event.get("message"), dict) and message.get("role") == "toolResult"
    }
    for line in lines:
        if line.type in ("MessageEnd", "TurnEnd"):
            yield line.id, line.event.get("message")
        elif line.type == "ToolExecutionEnd" and line.event.get("tool_call_id") not in inferred:
            yield line.id, _result(line.event)


def _result(event: Mapping[str, Json]) -> Json:
    result = event.get("result")
    content = result.get("content") if isinstance(result, dict) else result
    call, name = event.get("tool_call_id"), event.get("tool_name")
    return {"role": "toolResult", "toolCallId": call, "toolName": name, "content": content}


def _named(blocks: Sequence[Block], window: Window, turn: Turn) -> list[Block]:
    """Return blocks with the calls that new results answer. At most two queries."""
    known = {held.key: held.kind for held in window.held}
    ids = {block.tool_call_id for block in blocks if block.tool_call_id and block.key not in known}
    calls = _tool_calls(turn, ids) if ids else {}
    found = []
    for block in blocks:
        call = calls.get(block.tool_call_id)
        if block.key in known:
            found.append(replace(block, kind=known[block.key]))
        else:
            found.append(named(block, call) if call else block)
    return found


def _tool_calls(turn: Turn, ids: Collection[str]) -> dict[str, ToolCall]:
    within = "IN (SELECT id FROM recorder_looprecord WHERE session_id = %s)"
    param = sql.list_param(ids)
    rows = sql.read(
        f"""SELECT tool_call_id, tool_name, summary FROM recorder_toolcall
            WHERE loop_id {within} AND {sql.in_list("tool_call_id")} ORDER BY id""",
        turn.session,
        param,
    )
    children = sql.read(
        f"""SELECT tool_call_id FROM recorder_childloopref
            WHERE loop_id {within} AND {sql.in_list("tool_call_id")}""",
        turn.session,
        param,
    )
    spawned = {call for (call,) in children}
    return {call: ToolCall(name, summary, call in spawned) for call, name, summary in rows}
