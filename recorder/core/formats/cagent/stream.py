"""One stream of cagent, stream_started to stream_stopped: a loop, with its iterations as turns.

cagent reports the end of a message (message_added) and its usage, then runs the tool calls one after another.
No event ends an iteration, so a turn ends when the next one starts or the stream stops.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from recorder.core.formats.base import COUNTS, Fields, count_field, parse_arguments, text_field
from recorder.core.records import Json

_USAGE = {
    "input": "input_tokens",
    "output": "output_tokens",
    "reasoning": "reasoning_tokens",
    "cache_read": "cached_input_tokens",
    "cache_write": "cached_write_tokens",
}


@dataclass(slots=True)
class Stream:
    """State of an open stream. Stored as JSON, under the names of `_STORED_NAMES_OF_STREAM`."""

    session_id: str
    loop_id: str
    agent: str = ""
    model: str = ""  # provider/model, from agent_info
    turns: int = 0  # ended ones; the index of the open one
    in_turn: bool = False
    is_writing: bool = False  # the message of the open turn has started
    is_complete: bool = False  # the message of the open turn has ended
    text: str = ""
    thinking: str = ""
    calls: dict[str, list[str]] = field(default_factory=dict)  # by id: name and arguments so far
    running: list[str] = field(default_factory=list)  # ids of tool calls that run
    held_calls: list[str] = field(default_factory=list)  # waited for approval, or blocked by a hook
    pending_results: int = 0  # tool results whose message_added is still to come
    usage: Fields | None = None
    cost: Json = None  # of the open turn, in USD
    answer_model: str = ""  # model that answered in the open turn
    turn_model: str = ""  # provider/model that the open turn asked; a hand-off sets `model` before it ends
    total: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    answer: str = ""  # text of the last complete message
    open_questions: list[list[str]] = field(default_factory=list)  # without a tool call: id and kind
    context_tokens: int | None = None  # size of the last request
    compaction: Fields | None = None  # completed; its size afterwards comes with the next usage
    summary: str | None = None
    error: str = ""
    hit_limit: bool = False
    is_compaction: bool = False  # a compaction outside any stream
    compaction_at: str = ""  # when the last compaction started

    def begin_turn(self, at: str) -> Iterator[Fields]:
        """Start a turn, unless one is open whose message is incomplete or whose tools run."""
        if self.in_turn and (not self.is_complete or self.running):
            return
        yield from self.end_turn(at)
        yield self.event(
            "TurnStart",
            turn_index=self.turns,
            timestamp=at,
            triggered_by="Continuation" if self.turns else "User",
        )
        self.in_turn, self.turn_model = True, self.model

    def open_turn(self, at: str) -> Iterator[Fields]:
        """Start a turn if none is open."""
        if not self.in_turn:
            yield from self.begin_turn(at)

    def end_turn(self, at: str) -> Iterator[Fields]:
        """End the open turn with its usage and its message with all tool calls."""
        if not self.in_turn:
            return
        usage = self.usage or dict.fromkeys(COUNTS, 0)
        for name in COUNTS:
            self.total[name] += count_field(usage, name)
        yield self.event(
            "TurnEnd",
            turn_index=self.turns,
            message=self.message(usage),
            usage=usage,
            cost=self.cost,
            timestamp=at,
            tool_results=[],
        )
        self.turns += 1
        self.in_turn = self.is_writing = self.is_complete = False
        self.text = self.thinking = self.answer_model = self.turn_model = ""
        self.usage = self.cost = None
        self.calls, self.held_calls = {}, []

    def paid_turn(self, cost: float, at: str) -> Iterator[Fields]:
        """Record a model call of which only the cost is known, in USD, as a turn."""
        yield from self.begin_turn(at)
        self.cost = cost
        yield from self.end_turn(at)

    def write(self, kind: str, delta: str, at: str) -> Iterator[Fields]:
        """Add a delta to the answer. `kind` is Text, Thinking or ToolCallDelta, as in phi-core."""
        if self.is_complete:
            self.running = []  # the model answers after all tools: their results were lost
            yield from self.begin_turn(at)
        yield from self.open_turn(at)
        empty = self.message({}, is_placeholder=True)
        if not self.is_writing:
            self.is_writing = True
            yield self.event("MessageStart", message=empty)
        if kind == "Text":
            self.text += delta
        elif kind == "Thinking":
            self.thinking += delta
        if delta:
            yield self.event("MessageUpdate", message=empty, delta={kind: {"delta": delta}})

    def write_call(self, call_id: str, name: str, arguments: str, at: str) -> Iterator[Fields]:
        """Add to a tool call. `arguments` is all of its JSON text so far; the delta is what is new of it."""
        yield from self.write("ToolCallDelta", "", at)
        previous = self.calls.get(call_id, ["", ""])[1]
        self.calls[call_id] = [name, arguments]
        yield from self.write("ToolCallDelta", arguments.removeprefix(previous), at)

    def complete_message(self, at: str) -> Iterator[Fields]:
        """End the message of the open turn. A further message belongs to the next turn."""
        yield from self.write("Text", "", at)
        self.is_complete, self.answer = True, self.text
        yield self.event("MessageEnd", message=self.message(self.usage or {}))

    def set_usage(self, last: Fields) -> None:
        """Set usage, cost and model of the open turn, from `usage.last_message`."""
        counts = {ours: count_field(last, theirs) for ours, theirs in _USAGE.items()}
        total = counts["input"] + counts["output"] + counts["cache_read"] + counts["cache_write"]
        self.usage = {**counts, "total_tokens": total}
        cost = last.get("Cost")
        self.cost = cost if isinstance(cost, int | float) and not isinstance(cost, bool) else None
        self.answer_model = text_field(last, "Model")

    def message(self, usage: Fields, *, is_placeholder: bool = False) -> Fields:
        """Return the answer of the open turn as a message of phi-core."""
        provider, _, model = (self.turn_model or self.model).rpartition("/")
        message: Fields = {
            "role": "assistant",
            "content": [] if is_placeholder else list(self._content()),
            "stopReason": "error" if self.error else "toolUse" if self.calls else "stop",
            "model": self.answer_model or model,
            "provider": provider,
            "usage": {name: count_field(usage, name) for name in COUNTS},
        }
        return message | {"error_message": self.error} if self.error else message

    def event(self, event_type: str, /, **fields: Json) -> Fields:
        """Return an event of this loop."""
        return {"type": event_type, "loop_id": self.loop_id, **fields}

    def prompt(self, content: Json) -> Iterator[Fields]:
        """Yield a user's message, start and end."""
        message: Fields = {"role": "user", "content": content}
        yield self.event("MessageStart", message=message)
        yield self.event("MessageEnd", message=message)

    def approval_resolved(self, key: str, decision: str | None, *, timestamp: Json = None) -> Fields:
        """Return the inferred answer to an approval; `decision` is None if it is unknown."""
        return self.event(
            "ApprovalResolved",
            session_id=self.session_id,
            approval_id=key,
            decision=decision,
            inferred=True,
            timestamp=timestamp,
        )

    def resume(self) -> Iterator[Fields]:
        """Resolve all open questions, as the agent continues. Only the limit's answer is known: granted."""
        for key, kind in self.open_questions:
            yield self.approval_resolved(key, "granted" if kind == "limit" else None)
            if kind == "limit":
                self.hit_limit = False
        self.open_questions = []

    def finish_compaction(self, at: str, *, after: int | None) -> Iterator[Fields]:
        """End a completed compaction. `after` is its size afterwards in tokens, None if unknown."""
        if self.compaction is None:
            return
        yield self.event(
            "CompactionEnded",
            messages_before=None,
            messages_after=None,
            estimated_tokens_before=self.compaction["before"],
            estimated_tokens_after=after,
            loops_compacted=None,
            summary=self.compaction["summary"],
            timestamp=at,
        )
        self.compaction = None

    def finish(self, at: str) -> Iterator[Fields]:
        """End the compaction, and the open turn if it has any result."""
        yield from self.finish_compaction(at, after=None)
        if self.usage or self.is_complete or self.error:
            yield from self.end_turn(at)

    def end(self, at: str) -> Iterator[Fields]:
        """End the loop. Questions still open are resolved; a limit is then denied."""
        yield from self.finish(at)
        for key, kind in self.open_questions:
            yield self.approval_resolved(key, "denied" if kind == "limit" else None)
        message: Fields = {"role": "assistant", "content": [{"type": "text", "text": self.answer}]}
        yield self.event(
            "AgentEnd",
            messages=[message] if self.answer else [],
            usage=dict(self.total),
            timestamp=at,
            outcome="failed" if self.error else "limit" if self.hit_limit else "completed",
            error=self.error or None,
        )

    def irregularity(self, code: str, text: str) -> Fields:
        """Return a notice that a line breaks cagent's order of events."""
        return self.event("Notice", kind="irregular", severity="warning", code=code, text=text)

    def _content(self) -> Iterator[Fields]:
        if self.thinking:
            yield {"type": "thinking", "thinking": self.thinking}
        if self.text:
            yield {"type": "text", "text": self.text}
        for call_id, (name, arguments) in self.calls.items():
            yield {"type": "toolCall", "id": call_id, "name": name, "arguments": parse_arguments(arguments)}
