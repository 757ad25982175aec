"""One-line summaries of recorded events, and the colours of their ticks. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dashboard.pages.session.events import span_summary
from dashboard.pages.session.events.bodies import Object, items, number, obj, result_text, string, text_of
from dashboard.rendering.number_format import exact, plural, tokens
from recorder.core.content.text import excerpt, one_line
from recorder.core.records import Json

TICKS: Mapping[str, str] = {
    "AgentStart": "event-loop",
    "AgentEnd": "event-loop",
    "TurnStart": "event-turn",
    "TurnRequest": "event-turn",
    "TurnEnd": "event-turn",
    "MessageStart": "event-message",
    "MessageUpdate": "event-message",
    "MessageEnd": "event-message",
    "ToolExecutionStart": "event-tool",
    "ToolExecutionUpdate": "event-tool",
    "ToolExecutionEnd": "event-tool",
    "ProgressMessage": "event-tool",
    "InputRejected": "event-error",
    "ErrorRaised": "event-error",
    "ApprovalRequested": "event-approval",
    "ApprovalResolved": "event-approval",
    "CompactionStarted": "event-compaction",
    "CompactionEnded": "event-compaction",
    "PrunApplied": "event-compaction",
    "RevertApplied": "event-compaction",
    "ParallelLoopStart": "event-winner",
    "ParallelLoopEnd": "event-winner",
}


def tick(kind: str, event: Object) -> str:
    """Return the colour class of an event's tick."""
    failed = event.get("is_error") is True or obj(event.get("message")).get("error_message")
    return (
        "event-error"
        if failed or (kind == "AgentEnd" and event.get("rejection"))
        else TICKS.get(kind, "event-turn")
    )


def summary(kind: str, event: Object) -> str:
    """Return a one-line summary of an event, at most 300 characters."""
    return excerpt(_SUMMARIES.get(kind, _unknown)(event), 300)


def _agent_start(event: Object) -> str:
    kind = event.get("continuation_kind", "Initial")
    name = kind if isinstance(kind, str) else next(iter(obj(kind)), "Initial")
    config = obj(event.get("config_snapshot"))
    parts = [name, string(config.get("config_id")) and f"config {string(config.get('config_id'))}"]
    parent = string(event.get("parent_loop_id"))
    return ", ".join(filter(None, (*parts, parent and f"parent {_short(parent)}")))


def _agent_end(event: Object) -> str:
    if rejection := string(event.get("rejection")):
        return f"rejected: {rejection}"
    outcome = string(event.get("outcome"))
    return ", ".join(
        filter(None, (outcome, plural(len(items(event.get("messages"))), "message"), _usage(event)))
    )


def _turn_start(event: Object) -> str:
    return f"turn {number(event.get('turn_index'))}, triggered by {string(event.get('triggered_by'))}"


_REQUEST = (("messages", "message"), ("tools", "tool"))


def _turn_request(event: Object) -> str:
    payload = obj(event.get("payload"))
    sent = [plural(len(items(payload[name])), word) for name, word in _REQUEST if name in payload]
    return ", ".join(filter(None, (string(payload.get("model_id")), *sent)))


def _turn_end(event: Object) -> str:
    message = obj(event.get("message"))
    error = string(message.get("error_message"))
    return ", ".join(filter(None, (string(message.get("stopReason")), _usage(event), error)))


def _message(event: Object) -> str:
    message = obj(event.get("message"))
    role = string(message.get("role"))
    content = message.get("content")
    if isinstance(content, list) and not content:
        return f"{role}, stream opened"
    if role == "assistant" and isinstance(content, list):
        kinds = [obj(part).get("type") for part in content]
        counts = (("thinking", "thinking block"), ("toolCall", "tool call"), ("image", "image"))
        parts = [plural(kinds.count(kind), words) for kind, words in counts if kind in kinds]
        return ", ".join((role, *parts, text_of(content) if "text" in kinds else "")).rstrip(", ")
    if content is None:
        return ", ".join(filter(None, (role, string(message.get("kind")))))
    return f"{role}: {text_of(content)}"


def _update(event: Object) -> str:
    kind, inside = next(iter(obj(event.get("delta")).items()), ("", None))
    return f"{kind} {string(obj(inside).get('delta'))}".strip()


def _tool_start(event: Object) -> str:
    return f"{string(event.get('tool_name'))} {one_line(event.get('args'))}".strip()


def _tool_update(event: Object) -> str:
    return f"{string(event.get('tool_name'))}, {result_text(event.get('partial_result'))}"


def _tool_end(event: Object) -> str:
    failed = "failed" if event.get("is_error") is True else ""
    name = string(event.get("tool_name"))
    return ", ".join(filter(None, (name, failed, result_text(event.get("result")))))


def _progress(event: Object) -> str:
    return f"{string(event.get('tool_name'))}, {string(event.get('text'))}"


def _parallel_start(event: Object) -> str:
    return plural(len(items(event.get("loop_ids"))), "branch,branches")


def _parallel_end(event: Object) -> str:
    return f"branch {number(event.get('selected_config_index')) + 1} selected"


def _compaction_start(event: Object) -> str:
    count = tokens(number(event.get("estimated_tokens")))
    return f"{count} tokens, {_counted(event, 'message_count', 'message')}"


def _compaction_end(event: Object) -> str:
    sizes = f"{_count(event, 'estimated_tokens_before')} → {_count(event, 'estimated_tokens_after')} tokens"
    return f"{sizes}, {_count(event, 'messages_before')} → {_count(event, 'messages_after')} messages"


def _prun_applied(event: Object) -> str:
    messages = _counted(event, "messages_removed", "message")
    return f"{messages}, {_counted(event, 'tokens_removed', 'token')}"


def _revert_applied(event: Object) -> str:
    return ", ".join(
        (string(event.get("category")), "applied" if event.get("applied") is True else "rejected")
    )


def _sub_agent_linked(event: Object) -> str:
    name = string(event.get("tool_name"))
    return f"sub-agent {_short(string(event.get('child_loop_id') or event.get('child_session_id')))}" + (
        name and f" through {name}"
    )


def _agent_switched(event: Object) -> str:
    return f"{string(event.get('from'))} → {string(event.get('to'))}"


def _approval_requested(event: Object) -> str:
    return ", ".join(filter(None, (string(event.get(name)) for name in ("command", "risk"))))


def _approval_resolved(event: Object) -> str:
    return ", ".join(filter(None, (string(event.get(name)) for name in ("decision", "reason", "command"))))


def _loop_withdrawn(event: Object) -> str:
    if event.get("is_gone") is True:
        return "its spans belong to another loop"
    return "recorded again: later spans changed it"


def _loop_reopened(event: Object) -> str:
    turn = event.get("turn_index")
    return f"goes on with turn {number(turn)}" if turn is not None else "goes on"


def _usage_reported(event: Object) -> str:
    return ", ".join(filter(None, (f"turn {number(event.get('turn_index'))}", _usage(event))))


def _unknown(event: Object) -> str:
    if any(name in event for name in span_summary.WRAPPERS):
        return span_summary.summary(event)
    fields = {
        name: value
        for name, value in event.items()
        if name not in ("type", "loop_id", "session_id", "timestamp")
    }
    return one_line(dict(fields))


def _field(name: str) -> Callable[[Object], str]:
    return lambda event: string(event.get(name))


def _usage(event: Object) -> str:
    usage = obj(event.get("usage"))
    return f"{exact(number(usage.get('output')))} output tokens" if usage else ""


def _counted(event: Object, name: str, noun: str) -> str:
    value: Json = event.get(name)
    return plural(value, noun) if type(value) is int else f"unknown {noun}s"


def _count(event: Object, name: str) -> str:
    value: Json = event.get(name)
    return exact(value) if type(value) is int else "unknown"


def _short(loop_id: str) -> str:
    return loop_id if len(loop_id) <= 24 else f"…{loop_id[-20:]}"


_SUMMARIES: Mapping[str, Callable[[Object], str]] = {
    "AgentStart": _agent_start,
    "AgentEnd": _agent_end,
    "TurnStart": _turn_start,
    "TurnRequest": _turn_request,
    "TurnEnd": _turn_end,
    "MessageStart": _message,
    "MessageUpdate": _update,
    "MessageEnd": _message,
    "ToolExecutionStart": _tool_start,
    "ToolExecutionUpdate": _tool_update,
    "ToolExecutionEnd": _tool_end,
    "ProgressMessage": _progress,
    "InputRejected": _field("reason"),
    "ErrorRaised": _field("message"),
    "ParallelLoopStart": _parallel_start,
    "ParallelLoopEnd": _parallel_end,
    "CompactionStarted": _compaction_start,
    "CompactionEnded": _compaction_end,
    "PrunApplied": _prun_applied,
    "RevertApplied": _revert_applied,
    "SubAgentLinked": _sub_agent_linked,
    "AgentSwitched": _agent_switched,
    "ApprovalRequested": _approval_requested,
    "ApprovalResolved": _approval_resolved,
    "LoopWithdrawn": _loop_withdrawn,
    "LoopReopened": _loop_reopened,
    "CallReported": _usage_reported,
    "UsageReported": _usage_reported,
}
