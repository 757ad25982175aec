"""Native events from the entries of an outline and the content of the lines that they name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from recorder.core.formats.base import Fields, format_time
from recorder.core.formats.otlp.line_content import (
    answer_in,
    arguments_in,
    messages_in,
    requested_arguments,
    result_in,
)
from recorder.core.formats.otlp.outline import Entry
from recorder.core.formats.otlp.spans import names
from recorder.core.formats.otlp.spans.attributes import decoded, first_count, first_text, moment
from recorder.core.formats.otlp.spans.content.request import merged, request_of, settings_of
from recorder.core.formats.otlp.spans.content.tools import is_positional
from recorder.core.formats.otlp.spans.decisions import command_of
from recorder.core.formats.otlp.spans.digest import Digest, Item
from recorder.core.formats.otlp.spans.tags import tags_of
from recorder.core.records import Json

ReadLine = Callable[[Digest], Item]
CONTEXTS = ("<session_context>", "<environment_context>", "<user_instructions>")
_COMPACTION = {  # counts of a compaction, by their names in our export
    "messages_before": "messages_before",
    "messages_after": "messages_after",
    "estimated_tokens_before": "tokens_before",
    "estimated_tokens_after": "tokens_after",
}
EXCERPT = 400  # characters of the last answer in the end of a loop


def event_of(entry: Entry, loop_id: str, read: ReadLine) -> list[Fields]:
    """Return the events of an entry; a prompt may consist of several messages, or of none."""
    items = [read(source) for source in entry.sources]
    events = _WRITERS[entry.step](entry, loop_id, items)
    if entry.step == "tool_start" and (not events[0]["args"] or is_positional(events[0]["args"])):
        requested = requested_arguments(str(entry.facts[0]), map(read, entry.requested_by))
        events[0]["args"] = requested or events[0]["args"]
    return events


def time_of(nanoseconds: int) -> str:
    """Return a time as RFC 3339, to the microsecond."""
    return format_time(moment(nanoseconds))


def _start(entry: Entry, loop_id: str, items: Sequence[Item]) -> list[Fields]:
    home, session, agent, runtime, service, _, model, provider = map(str, entry.facts)
    metadata: Fields = {"runtime": runtime}
    if service and not service.startswith("unknown_service"):
        metadata["service"] = service
    for item in items:
        for name in ("service.version", "deployment.environment.name", "host.name"):
            if isinstance(value := item.resource.get(name) or item.attributes.get(name), str):
                metadata[name] = value
        if item.digest.user:
            metadata.setdefault("user", item.digest.user)
    if tags := dict.fromkeys(tag for item in items for tag in tags_of(item.attributes)):
        metadata["tags"] = ", ".join(tags)
    exported = next((item.attributes for item in items if "loopscope.metadata" in item.attributes), {})
    start: Fields = {
        "type": "AgentStart",
        "agent_id": agent,
        "session_id": session,
        "loop_id": loop_id,
        "timestamp": time_of(entry.at),
        "metadata": (decoded(exported["loopscope.metadata"]) or None) if exported else metadata,
        "config_snapshot": _snapshot(items, model, provider),
        "adopts": f"spans-{home}",
    }
    if title := first_text(exported, ("loopscope.title",)):
        start["title"] = title
    stated: Fields = {"title": first_text(exported, ("loopscope.session.title",)) or None}
    stated["tags"] = exported.get("loopscope.session.tags")
    about: Fields = {"type": "SessionInfo", "loop_id": loop_id, "session_id": session, **stated}
    return [start, about | {"timestamp": time_of(entry.at)}] if any(stated.values()) else [start]


def _snapshot(items: Sequence[Item], model: str, provider: str) -> Fields | None:
    """Return model, provider and settings of the first call; None if there is none yet."""
    calls = [item for item in items if item.digest.kind in ("model", "note")]
    call = next(iter([*calls, *items]), None)  # of an agent without model calls its own span
    if call is None or not model:
        return None
    return {"model": model, "provider": provider, **settings_of(call.attributes)}


def _turn(entry: Entry, loop_id: str, _items: Sequence[Item]) -> list[Fields]:
    index, trigger = entry.facts
    return [
        {
            "type": "TurnStart",
            "loop_id": loop_id,
            "turn_index": index,  # type: ignore[dict-item]
            "triggered_by": str(trigger),
            "timestamp": time_of(entry.at),
        }
    ]


def _attempt(entry: Entry, loop_id: str, _items: Sequence[Item]) -> list[Fields]:
    return [
        {
            "type": "ErrorRaised",
            "loop_id": loop_id,
            "scope": "turn",
            "code": "attempt_failed",
            "message": str(entry.facts[0]),
            "recovered": True,
            "timestamp": time_of(entry.at),
        }
    ]


def _prompt(entry: Entry, loop_id: str, items: Sequence[Item]) -> list[Fields]:
    found = messages_in(items)
    users = [message for message in found.new if message["role"] == "user"]
    texts = [message for message in map(_without_context, users) if message["content"]]
    if not found.input:
        prompt = next((text for item in items if (text := first_text(item.attributes, names.PROMPT))), "")
        texts = [{"role": "user", "content": [{"type": "text", "text": prompt}]}] if prompt else []
    stamp = entry.at // 10**6
    return [
        {"type": "MessageEnd", "loop_id": loop_id, "message": {**message, "timestamp": stamp}}
        for message in texts
    ]


def _request(entry: Entry, loop_id: str, items: Sequence[Item]) -> list[Fields]:
    """Return the system prompt and the tools of a call; its messages are events of their own."""
    index, model = entry.facts
    payload: Fields = {"model_id": str(model), **merged(map(_request_of, items))}
    return [
        {
            "type": "TurnRequest",
            "loop_id": loop_id,
            "turn_index": index,  # type: ignore[dict-item]
            "payload": payload,
            "timestamp": time_of(entry.at),
        }
    ]


def _request_of(item: Item) -> Fields:
    return request_of(item.attributes, item.messages.system)


def _without_context(message: Fields) -> Fields:
    """Return a message without what a runtime added to describe the environment."""
    content = message["content"]
    if isinstance(content, str):
        return message | {"content": "" if content.lstrip().startswith(CONTEXTS) else content}
    blocks = content if isinstance(content, list) else []
    return message | {"content": [block for block in blocks if not _is_context(block)]}


def _is_context(block: Json) -> bool:
    text = block.get("text") if isinstance(block, dict) else ""
    return isinstance(text, str) and text.lstrip().startswith(CONTEXTS)


def _answer(entry: Entry, loop_id: str, items: Sequence[Item]) -> list[Fields]:
    message = _assistant(entry, answer_in(items))
    return [{"type": "MessageEnd", "loop_id": loop_id, "message": message}]


def _assistant(entry: Entry, content: list[Fields]) -> Fields:
    model, provider, finish, error = map(str, entry.facts[:4])
    message: Fields = {
        "role": "assistant",
        "content": list(content),
        "model": model,
        "provider": provider,
        "stopReason": "error" if error else finish,
        "timestamp": entry.at // 10**6,
    }
    return message | ({"error_message": error} if error else {})


def _compaction(entry: Entry, loop_id: str, items: Sequence[Item]) -> list[Fields]:
    """Return a compaction of the context: one that a provider made has no counts, one of our export may.

    A start that has the time of the end is unknown; a compaction that was cut has no end.
    """
    about = items[0].attributes if items else {}
    counts = {name: first_count(about, (f"loopscope.compaction.{own}",)) for name, own in _COMPACTION.items()}
    began_at, outcome = entry.facts or (entry.at, "")
    started: Fields = {
        "type": "CompactionStarted",
        "loop_id": loop_id,
        "message_count": counts["messages_before"],
        "estimated_tokens": counts["estimated_tokens_before"],
        "timestamp": time_of(int(str(began_at))),
    }
    if outcome == "cut":
        return [started]
    ended: Fields = {"type": "CompactionEnded", "loop_id": loop_id, **counts, "loops_compacted": None}
    ended["timestamp"] = time_of(entry.at)
    if isinstance(summary := about.get("loopscope.compaction.summary"), str):
        ended["summary"] = summary
    return [ended] if began_at == entry.at else [started, ended]


def _approval(entry: Entry, loop_id: str, items: Sequence[Item]) -> list[Fields]:
    """Return a request for approval and its decision; senders report both once it is decided."""
    call, name, at, decision, source, scope = map(str, entry.facts)
    command = next((found for item in items if (found := command_of(item.attributes))), name)
    about: Fields = {"loop_id": loop_id, "approval_id": call, "tool_call_id": call}
    requested: Fields = {"kind": "tool", "command": command, "timestamp": time_of(entry.at)}
    decided: Fields = {"decision": decision, "scope": scope or None, "reason": source or None}
    return [
        {"type": "ApprovalRequested", **about, **requested},
        {"type": "ApprovalResolved", **about, **decided, "timestamp": time_of(int(at))},
    ]


def _tool_start(entry: Entry, loop_id: str, items: Sequence[Item]) -> list[Fields]:
    call, name = map(str, entry.facts)
    return [
        {
            "type": "ToolExecutionStart",
            "loop_id": loop_id,
            "tool_call_id": call,
            "tool_name": name,
            "args": arguments_in(items),
            "timestamp": time_of(entry.at),
        }
    ]


def _tool_end(entry: Entry, loop_id: str, items: Sequence[Item]) -> list[Fields]:
    call, name, failed, error = entry.facts
    return [
        {
            "type": "ToolExecutionEnd",
            "loop_id": loop_id,
            "tool_call_id": str(call),
            "tool_name": str(name),
            "result": {"content": [{"type": "text", "text": result_in(str(call), items) or str(error)}]},
            "is_error": bool(failed),
            "timestamp": time_of(entry.at),
        }
    ]


def _turn_end(entry: Entry, loop_id: str, items: Sequence[Item]) -> list[Fields]:
    figures, cost = dict(entry.facts[4]), entry.facts[5]  # type: ignore[call-overload]
    texts = [block for block in answer_in(items) if block["type"] == "text"]
    event: Fields = {
        "type": "TurnEnd",
        "loop_id": loop_id,
        "message": _assistant(entry, texts),
        "usage": figures,
        "timestamp": time_of(entry.at),
        "tool_results": [],
    }
    if len(entry.facts) > 6:
        event["has_usage"] = False
    if isinstance(cost, int) and cost >= 0:
        event["cost"] = f"{cost // 10**9}.{cost % 10**9:09d}"
    return [event]


def _notice(entry: Entry, loop_id: str, _items: Sequence[Item]) -> list[Fields]:
    """Return a notice of a call whose input leaves cached tokens out; one a loop."""
    return [
        {
            "type": "Notice",
            "loop_id": loop_id,
            "kind": "irregular",
            "severity": "warning",
            "code": "input_without_cache",
            "text": "A call reported less input than cached tokens; its input was taken as without them.",
            "timestamp": time_of(entry.at),
        }
    ]


def _guardrail(entry: Entry, loop_id: str, _items: Sequence[Item]) -> list[Fields]:
    name, text = map(str, entry.facts)
    about: Fields = {"kind": "guardrail", "severity": "warning", "code": name, "text": text}
    return [{"type": "Notice", "loop_id": loop_id, **about, "timestamp": time_of(entry.at)}]


def _end(entry: Entry, loop_id: str, items: Sequence[Item]) -> list[Fields]:
    outcome, error, totals = entry.facts
    answer = [block for block in answer_in(items) if block["type"] == "text"][-1:]
    text = str(answer[0]["text"])[:EXCERPT] if answer else ""
    content: list[Json] = [{"type": "text", "text": text}] if text else []
    message: Fields = {"role": "assistant", "content": content}
    empty: Fields = {"input": 0, "output": 0}
    return [
        {
            "type": "AgentEnd",
            "loop_id": loop_id,
            "messages": [message] if content else [],
            "usage": empty | dict(totals),  # type: ignore[call-overload]
            "timestamp": time_of(entry.at),
            "outcome": str(outcome),
            "error": str(error) or None,
        }
    ]


_WRITERS: dict[str, Callable[[Entry, str, Sequence[Item]], list[Fields]]] = {
    "start": _start,
    "turn": _turn,
    "attempt": _attempt,
    "prompt": _prompt,
    "request": _request,
    "answer": _answer,
    "compaction": _compaction,
    "approval": _approval,
    "tool_start": _tool_start,
    "tool_end": _tool_end,
    "turn_end": _turn_end,
    "notice": _notice,
    "guardrail": _guardrail,
    "end": _end,
}
