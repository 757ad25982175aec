"""The spans of a recorded loop, by the conventions of OpenTelemetry for generative AI.

A loop is a span `invoke_agent`, a turn a span `chat`, a tool call `execute_tool`, a compaction a span of its
own that is no call. A loop without a caller in its session is the root of a trace; a sub-agent stands below
the tool call that started it. Ids are hashes of our keys: exporting twice gives the same bytes. Each call has
the messages that are new in it. What the conventions have no name for begins with `loopscope.`; our reader
(`recorder/core/formats/otlp`) understands it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from recorder.core.content import messages
from recorder.core.content.labels import tags_of
from recorder.core.content.text import json_text
from recorder.core.formats.base import Fields
from recorder.core.otlp_export.messages import parts_of, text_of_blocks, text_of_messages
from recorder.core.phi_session.writer import Entry, RecordedLoop
from recorder.core.records import ChildRef, Compaction, Json, Loop, Turn
from recorder.core.spend import Spend

INTERNAL, CLIENT = 1, 3  # kinds of spans
OK, ERROR = 1, 2  # codes of a status
Value = str | int | float | bool | list[str]


class Home(NamedTuple):
    """The place of a loop's span: its trace, and the span above it ("" for the root)."""

    trace: str
    parent: str


@dataclass(slots=True)
class Span:
    """One span; times in nanoseconds since 1970."""

    trace: str  # 32 hex digits
    id: str  # 16 hex digits
    parent: str
    name: str
    start: int
    end: int
    kind: int = INTERNAL
    attributes: dict[str, Value] = field(default_factory=dict)
    error: str | None = None  # the message of a failure


def homes(loops: Sequence[Loop], refs: Sequence[ChildRef]) -> dict[Loop, Home]:
    """Return where each loop of a session belongs; a sub-agent of another session is a root here."""
    exported = set(loops)
    callers = {ref.child: ref for ref in refs if ref.child in exported and ref.loop in exported}
    found: dict[Loop, Home] = {}
    for loop in loops:
        root, above, seen = loop, callers.get(loop), {loop}
        while above is not None and above.loop not in seen:
            root = above.loop
            seen.add(root)
            above = callers.get(root)
        caller = callers.get(loop)
        parent = "" if caller is None or root is loop else tool_id(caller.loop, caller.tool_call_id)
        found[loop] = Home(_hash(16, "trace", _key(root)), parent)
    return found


def tool_id(loop: Loop, call: str) -> str:
    return _hash(8, "tool", _key(loop), call)


def spans_of(recorded: RecordedLoop, home: Home) -> Iterator[Span]:
    """Yield the spans of a loop as they ended, its own last. What has not ended has no span."""
    loop = recorded.loop
    agent = _agent(loop, home)
    of_turn: dict[Turn, list[Entry]] = {}
    for entry in recorded.entries:
        if entry.record.turn is not None:
            of_turn.setdefault(entry.record.turn, []).append(entry)
    done = [turn for turn in recorded.turns if turn.state == "done"]
    for turn in done:
        usage = loop if loop.is_one_call and turn is done[-1] else turn
        yield from _turn(turn, of_turn.get(turn, []), agent, usage)
    if loop.is_one_call and not done:
        yield _span(agent, "call", _key(loop), "chat", agent.start, agent.end, _usage(loop, "", ""))
    yield from _tools(recorded, agent)
    for compaction in recorded.compactions:
        yield _compaction(compaction, agent)
    yield agent


def _agent(loop: Loop, home: Home) -> Span:
    start = _ns(loop.started_at or loop.session.created_at)
    end = max(start, _ns(loop.ended_at or loop.last_event_at or loop.session.last_event_at))
    name = f"invoke_agent {loop.agent_id}".strip()
    span = Span(home.trace, _hash(8, "loop", _key(loop)), home.parent, name, start, end)
    span.attributes = _without_empty({
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": loop.agent_label or loop.agent_id,
        "gen_ai.agent.id": loop.agent_id,
        "gen_ai.conversation.id": loop.session.session_id,
        "gen_ai.request.model": loop.config.model if loop.config is not None else "",
        "gen_ai.provider.name": loop.config.provider if loop.config is not None else "",
        "loopscope.loop.id": loop.loop_id,
        "loopscope.loop.role": loop.role,
        "loopscope.outcome": loop.outcome,
        "loopscope.continuation": loop.continuation_kind,
        "loopscope.title": loop.title,
        "loopscope.session.title": loop.session.title if loop.session.title_given else "",
        "loopscope.metadata": json_text(loop.metadata or {}),
    })  # fmt: skip
    if tags := tags_of(loop.session.tags):
        span.attributes["loopscope.session.tags"] = [*tags]
    if loop.group is not None:
        span.attributes["loopscope.group"] = str(loop.group.ordinal)
        span.attributes["loopscope.branch"] = loop.branch_index or 0
        span.attributes["loopscope.is_selected"] = bool(loop.is_selected)
    if loop.outcome in ("failed", "aborted", "rejected", "limit", "cancelled"):
        span.error = loop.error or loop.rejection or loop.outcome
    return span


def _turn(turn: Turn, entries: Sequence[Entry], agent: Span, usage: Spend) -> Iterator[Span]:
    """Yield the failed attempts of a model call, and the call."""
    key = f"{_key(turn.loop)} {turn.ordinal}"
    start = _ns(turn.started_at) + min(turn.ordinal, 999)  # keeps the order of calls of one microsecond
    inputs = list(_inputs(entries))
    sent: dict[str, Value] = {"gen_ai.input.messages": text_of_messages(inputs)} if inputs else {}
    attempts = [each for each in entries if each.body.get("code") == "attempt_failed"]
    for number, attempt in enumerate(attempts):
        failed_at = max(start, _ns(attempt.record.occurred_at or turn.started_at))
        about: dict[str, Value] = {"gen_ai.operation.name": "chat", "loopscope.turn": turn.ordinal}
        failed = _span(agent, "attempt", f"{key} {number}", "chat", start, failed_at, about | sent, CLIENT)
        failed.error = messages.text_field(attempt.body, "message") or "failed"
        yield failed
    answer, at = _answer(turn, entries)
    end = max(start, _ns(at or turn.ended_at or turn.started_at))
    made = _usage(usage, turn.model, turn.provider) | sent | {"loopscope.turn": turn.ordinal}
    # Every call is one of its own, whatever ids another program has sent.
    made["gen_ai.response.id"] = f"loopscope-{_hash(8, 'response', key)}"
    if turn.stop_reason:
        made["gen_ai.response.finish_reasons"] = [turn.stop_reason]
    if answer is not None and parts_of(answer.get("content")):
        made["gen_ai.output.messages"] = text_of_messages([answer], turn.stop_reason)
    call = _span(agent, "turn", key, f"chat {turn.model}".strip(), start, end, made, CLIENT)
    call.error = turn.error or None
    yield call


def _inputs(entries: Sequence[Entry]) -> Iterator[Json]:
    """Yield the messages that are new in a turn."""
    for entry in entries:
        message = entry.body.get("message")
        if entry.record.type == "MessageEnd" and messages.role_of(message) != "assistant":
            yield message


def _answer(turn: Turn, entries: Sequence[Entry]) -> tuple[Fields | None, datetime | None]:
    """Return the answer of a turn and when it was complete; a transcript records it block by block."""
    found: list[Fields] = []
    at = None
    for entry in entries:
        message = entry.body.get("message")
        if (
            entry.record.type == "MessageEnd"
            and isinstance(message, dict)
            and message.get("role") == "assistant"
        ):
            found.append(message)
            at = entry.record.occurred_at
    if found:
        content = [block for message in found for block in _blocks(message.get("content"))]
        return (found[-1] if len(found) == 1 else found[-1] | {"content": content}), at
    ends = (entry.body.get("message") for entry in entries if entry.record.id == turn.end_event)
    message = next(ends, None)
    return (message if isinstance(message, dict) else None), None


def _blocks(content: Json) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def _usage(spend: Spend, model: str, provider: str) -> dict[str, Value]:
    """Return the usage by the conventions: input with cached tokens, output with reasoning."""
    cached = spend.cache_read_tokens + spend.cache_write_tokens
    total = spend.input_tokens if spend.uncached_tokens is None else spend.uncached_tokens + cached
    output = spend.output_tokens
    if spend.visible_tokens is not None:
        output = spend.visible_tokens + spend.reasoning_tokens
    found: dict[str, Value] = {
        "gen_ai.operation.name": "chat",
        **_without_empty({"gen_ai.request.model": model, "gen_ai.response.model": model,
                          "gen_ai.provider.name": provider}),
        "gen_ai.usage.input_tokens": total,
        "gen_ai.usage.output_tokens": output,
        "gen_ai.usage.cache_read.input_tokens": spend.cache_read_tokens,
        "gen_ai.usage.cache_creation.input_tokens": spend.cache_write_tokens,
        "gen_ai.usage.reasoning.output_tokens": spend.reasoning_tokens,
    }  # fmt: skip
    if spend.cache_write_1h_tokens:
        found["anthropic.usage.cache_creation.ephemeral_1h_input_tokens"] = spend.cache_write_1h_tokens
    if spend.cost_nano is not None:
        found["gen_ai.usage.cost"] = spend.cost_nano / 1e9
        found["loopscope.cost.source"] = spend.cost_source
    return found


def _tools(recorded: RecordedLoop, agent: Span) -> Iterator[Span]:
    """Yield a span for each execution; one that has not ended is marked as cut."""
    begun: dict[str, list[Entry]] = {}
    runs: dict[str, int] = {}
    for entry in recorded.entries:
        call = messages.text_field(entry.body, "tool_call_id")
        if entry.record.type == "ToolExecutionStart":
            if call in begun:
                yield _tool(begun.pop(call), agent, runs, recorded.loop)
            begun[call] = [entry]
        elif entry.record.type == "ToolExecutionEnd" and call in begun:
            yield _tool([*begun.pop(call), entry], agent, runs, recorded.loop)
    for rest in begun.values():
        yield _tool(rest, agent, runs, recorded.loop)


def _tool(entries: Sequence[Entry], agent: Span, runs: dict[str, int], loop: Loop) -> Span:
    start, end = entries[0], entries[1] if len(entries) > 1 else None
    name, call = (messages.text_field(start.body, each) for each in ("tool_name", "tool_call_id"))
    runs[call] = runs.get(call, 0) + 1
    # An id that comes again is that of another execution.
    key = tool_id(loop, call if runs[call] == 1 else f"{call} {runs[call]}")
    begins = _ns(start.record.occurred_at) or agent.start
    ends = max(begins, _ns(end.record.occurred_at)) if end is not None else max(begins, agent.end)
    ends += min(sum(runs.values()), 999)  # keeps the order of tools that ended in one microsecond
    span = Span(agent.trace, key, agent.id, f"execute_tool {name}".strip(), begins, ends)
    span.attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": call,
        "gen_ai.tool.call.arguments": json_text(start.body.get("args")),
    }
    if end is None:
        span.attributes["loopscope.outcome"] = "cut"
        return span
    content = end.body.get("result")
    result = text_of_blocks(content.get("content") if isinstance(content, dict) else content)
    has_failed = end.body.get("is_error") is True
    span.attributes |= {"gen_ai.tool.call.result": result, "loopscope.tool.failed": has_failed}
    if has_failed:
        span.error = result[:500] or "The tool failed."
    return span


def _compaction(compaction: Compaction, agent: Span) -> Span:
    start = _ns(compaction.started_at or compaction.ended_at) or agent.start
    figures: dict[str, Json] = {
        "loopscope.compaction.messages_before": compaction.messages_before,
        "loopscope.compaction.messages_after": compaction.messages_after,
        "loopscope.compaction.tokens_before": compaction.tokens_before,
        "loopscope.compaction.tokens_after": compaction.tokens_after,
        "loopscope.compaction.summary": compaction.summary,
    }
    attributes: dict[str, Value] = {
        name: value for name, value in figures.items() if isinstance(value, str | int) and value != ""
    }
    attributes["loopscope.compaction"] = True
    if compaction.state != "done":
        attributes["loopscope.outcome"] = "cut"
    key = f"{_key(compaction.loop)} {compaction.start_event or compaction.end_event}"
    return _span(
        agent, "compaction", key, "compaction", start, max(start, _ns(compaction.ended_at)), attributes
    )


def _span(
    agent: Span, what: str, key: str, name: str, start: int, end: int, attributes: dict[str, Value],
    kind: int = INTERNAL,
) -> Span:  # fmt: skip
    return Span(agent.trace, _hash(8, what, key), agent.id, name, start, end, kind, attributes)


def _key(loop: Loop) -> str:
    return f"{loop.session.session_id}\0{loop.loop_id}\0{loop.run}"


def _hash(size: int, *words: str) -> str:
    text = "\0".join(words).encode(errors="surrogatepass")
    return hashlib.blake2b(text, digest_size=size).hexdigest()


def _ns(at: datetime | None) -> int:
    """Return a time in nanoseconds since 1970, to the microsecond; 0 for none."""
    if at is None:
        return 0
    return int(at.timestamp()) * 10**9 + at.microsecond * 1000


def _without_empty(attributes: Mapping[str, str]) -> dict[str, Value]:
    return {name: value for name, value in attributes.items() if value}
