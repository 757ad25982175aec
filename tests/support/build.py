"""Builders of events with defaults, in phi-core's form: `agent_end("s.a.1", tokens=7)`.

A loop's session is the part of its id before the first dot; `at` counts seconds from nine o'clock.
"""

import json
from datetime import UTC, datetime, timedelta

NINE = datetime(2026, 2, 11, 9, tzinfo=UTC)


def time(at):
    return (NINE + timedelta(seconds=at)).isoformat().replace("+00:00", "Z")


def line(event):
    """Return the event as one line of JSON."""
    return json.dumps(event, separators=(",", ":")).encode()


def usage(tokens=0, **more):
    return {"input": tokens, "output": 0, **more}


def user(text="Fix the parser."):
    return {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1}


def assistant(
    text="Done.", stop="stop", error=None, tokens=0, model="claude-sonnet-4-6", provider="anthropic"
):
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
        "stopReason": stop,
        "model": model,
        "provider": provider,
        "usage": usage(tokens),
        "timestamp": 1,
    }
    return message if error is None else {**message, "error_message": error}


def tool_result(call="c1", text="ok", name="bash"):
    content = [{"type": "text", "text": text}]
    return {
        "role": "toolResult",
        "toolCallId": call,
        "toolName": name,
        "content": content,
        "isError": False,
        "timestamp": 1,
    }


def agent_start(loop="s.a.1", session=None, parent=None, kind="Initial", at=0, **more):
    return {
        "type": "AgentStart",
        "agent_id": "agent-a",
        "session_id": session or loop.split(".")[0],
        "loop_id": loop,
        "parent_loop_id": parent,
        "continuation_kind": kind,
        "timestamp": time(at),
        "metadata": None,
        **more,
    }


def agent_end(loop="s.a.1", tokens=0, at=9, messages=(), **more):
    return {
        "type": "AgentEnd",
        "loop_id": loop,
        "messages": list(messages),
        "usage": usage(tokens),
        "timestamp": time(at),
        **more,
    }


def turn_start(loop="s.a.1", index=0, at=1, by="User"):
    return {
        "type": "TurnStart",
        "loop_id": loop,
        "turn_index": index,
        "timestamp": time(at),
        "triggered_by": by,
    }


def turn_request(loop="s.a.1", index=0, at=1):
    payload = {"messages": [user()]}
    return {
        "type": "TurnRequest",
        "loop_id": loop,
        "turn_index": index,
        "payload": payload,
        "timestamp": time(at),
    }


def turn_end(loop="s.a.1", tokens=0, at=8, message=None, results=(), **more):
    return {
        "type": "TurnEnd",
        "loop_id": loop,
        "message": message or assistant(tokens=tokens),
        "usage": usage(tokens),
        "timestamp": time(at),
        "tool_results": list(results),
        **more,
    }


def message_start(loop="s.a.1", message=None):
    return {"type": "MessageStart", "loop_id": loop, "message": message or assistant("")}


def message_update(loop="s.a.1", text="he", kind="Text"):
    return {
        "type": "MessageUpdate",
        "loop_id": loop,
        "message": assistant(""),
        "delta": {kind: {"delta": text}},
    }


def message_end(loop="s.a.1", message=None):
    return {"type": "MessageEnd", "loop_id": loop, "message": message or assistant()}


def tool_start(loop="s.a.1", call="c1", name="bash", args=None, **more):
    args = {"command": "ls"} if args is None else args
    return {
        "type": "ToolExecutionStart",
        "loop_id": loop,
        "tool_call_id": call,
        "tool_name": name,
        "args": args,
        **more,
    }


def tool_update(loop="s.a.1", call="c1", name="bash", text="part"):
    partial = {"content": [{"type": "text", "text": text}]}
    return {
        "type": "ToolExecutionUpdate",
        "loop_id": loop,
        "tool_call_id": call,
        "tool_name": name,
        "partial_result": partial,
    }


def tool_end(loop="s.a.1", call="c1", name="bash", child=None, is_error=False, **more):
    result = {"content": [{"type": "text", "text": "ok"}], "details": None}
    return {
        "type": "ToolExecutionEnd",
        "loop_id": loop,
        "tool_call_id": call,
        "tool_name": name,
        "result": result if child is None else {**result, "child_loop_id": child},
        "is_error": is_error,
        **more,
    }


def progress(loop="s.a.1", call="c1", name="bash", text="50 %"):
    return {
        "type": "ProgressMessage",
        "loop_id": loop,
        "tool_call_id": call,
        "tool_name": name,
        "text": text,
    }


def input_rejected(loop="s.a.1", reason="blocked term"):
    return {"type": "InputRejected", "loop_id": loop, "reason": reason}


def parallel_start(*loops, session=None, at=0):
    loops = loops or ("s.a.1", "s.b.2")
    session = session or loops[0].split(".")[0]
    return {
        "type": "ParallelLoopStart",
        "session_id": session,
        "loop_ids": list(loops),
        "timestamp": time(at),
    }


def parallel_end(selected="s.a.1", index=0, session=None, at=9, tokens=0):
    return {
        "type": "ParallelLoopEnd",
        "session_id": session or selected.split(".")[0],
        "selected_loop_id": selected,
        "selected_config_index": index,
        "evaluation_usage": usage(tokens),
        "timestamp": time(at),
    }


def compaction_started(loop="s.a.1", tokens=5000, messages=9, at=2):
    return {
        "type": "CompactionStarted",
        "loop_id": loop,
        "estimated_tokens": tokens,
        "message_count": messages,
        "timestamp": time(at),
    }


def compaction_ended(loop="s.a.1", before=(9, 5000), after=(7, 400), at=3, **more):
    return {
        "type": "CompactionEnded",
        "loop_id": loop,
        "messages_before": before[0],
        "messages_after": after[0],
        "estimated_tokens_before": before[1],
        "estimated_tokens_after": after[1],
        "loops_compacted": 0,
        "timestamp": time(at),
        **more,
    }


def revert_applied(loop="s.a.1", at=3):
    return {
        "type": "RevertApplied",
        "loop_id": loop,
        "category": "failure",
        "target": 3,
        "abandoned_node_ids": [4],
        "summary": None,
        "applied": True,
        "reason": None,
        "timestamp": time(at),
    }


def prun_applied(loop="s.a.1", at=3):
    return {
        "type": "PrunApplied",
        "loop_id": loop,
        "tokens_removed": 10,
        "messages_removed": 1,
        "memo": None,
        "pruned_timestamps": [1],
        "timestamp": time(at),
    }


def ours(type_, loop="s.a.1", **more):
    """Return an event of Loopscope's own in a loop; for a session pass `loop=None` and `session_id`."""
    return {"type": type_, **({} if loop is None else {"loop_id": loop}), **more}


def small_loop(loop="s.a.1", tokens=5, text="Done.", **start):
    """Return all events of a loop of one turn that answers at once."""
    answer = assistant(text, tokens=tokens)
    return [
        agent_start(loop, **start),
        turn_start(loop),
        message_start(loop, user()),
        message_end(loop, user()),
        message_start(loop),
        message_update(loop, text=text),
        message_end(loop, answer),
        turn_end(loop, tokens=tokens, message=answer),
        agent_end(loop, tokens=tokens, messages=[user(), answer]),
    ]


def handed_over(loop="s.a.1", models=("claude-haiku-4-5", "claude-sonnet-4-5", "claude-haiku-4-5")):
    """Return a loop that `agent-a` begins with the first model, hands over to `expert`, and takes back."""
    events = [agent_start(loop, config_snapshot={"model": models[0], "provider": "anthropic"})]
    for index, (model, agent) in enumerate(zip(models, ("agent-a", "expert", "agent-a"), strict=True)):
        answer = assistant(tokens=1_000, model=model)
        events += [] if index == 0 else [ours("AgentSwitched", loop, to=agent)]
        events.append(turn_start(loop, index=index, at=10 * index))
        events.append(turn_end(loop, tokens=1_000, at=10 * index + 5, message=answer))
    return [*events, agent_end(loop, tokens=3_000, at=30)]
