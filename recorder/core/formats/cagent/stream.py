"""One stream of cagent, stream_started to stream_stopped: a loop, and its iterations as turns.

cagent says when a message is whole and what it cost, then runs the tools one after another; that an iteration
is over is only said by the next one. So a turn ends when the next begins, or the stream does.
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
    """What has to be known of a running stream to read its next line."""

    session_id: str
    loop_id: str
    agent: str = ""
    model: str = ""  # provider/model, as agent_info gives it
    turns: int = 0
    in_turn: bool = False
    is_writing: bool = False
    is_whole: bool = False  # the message of the open turn
    text: str = ""
    thinking: str = ""
    calls: dict[str, list[str]] = field(default_factory=dict)  # id: name and arguments so far
    running: list[str] = field(default_factory=list)  # tool calls that began
    asked: list[str] = field(default_factory=list)  # tool calls that waited, or that a hook blocked
    results: int = 0  # results whose message_added is still to come
    usage: Fields | None = None
    cost: Json = None
    answered_by: str = ""  # the model of the open turn
    total: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    answer: str = ""  # the text of the last message that was whole
    waits: list[list[str]] = field(default_factory=list)  # questions without a tool: id and kind
    context: int | None = None
    compaction: Fields | None = None  # done, but its size afterwards is not known yet
    summary: str | None = None
    error: str = ""
    hit_limit: bool = False
    is_pass: bool = False  # a compaction on its own

    def begin_turn(self, at: str) -> Iterator[Fields]:
        """Begin an iteration, unless one is open that has said nothing yet or whose tools still run."""
        if self.in_turn and (not self.is_whole or self.running):
            return
        yield from self.end_turn(at)
        yield self.event(
            "TurnStart",
            turn_index=self.turns,
            timestamp=at,
            triggered_by="Continuation" if self.turns else "User",
        )
        self.in_turn = True

    def open_turn(self, at: str) -> Iterator[Fields]:
        """Begin the first iteration where nothing said so."""
        if not self.in_turn:
            yield from self.begin_turn(at)

    def end_turn(self, at: str) -> Iterator[Fields]:
        """End the open iteration: its usage, and the message with all tools that it called."""
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
        self.in_turn = self.is_writing = self.is_whole = False
        self.text = self.thinking = self.answered_by = ""
        self.usage = self.cost = None
        self.calls, self.asked = {}, []

    def write(self, kind: str, piece: str, at: str) -> Iterator[Fields]:
        """A piece of the answer: Text, Thinking or ToolCallDelta."""
        if self.is_whole:
            self.running = []  # nothing is said while tools run: their results were lost
            yield from self.begin_turn(at)
        yield from self.open_turn(at)
        empty = self.message({}, is_placeholder=True)
        if not self.is_writing:
            self.is_writing = True
            yield self.event("MessageStart", message=empty)
        if kind == "Text":
            self.text += piece
        elif kind == "Thinking":
            self.thinking += piece
        if piece:
            yield self.event("MessageUpdate", message=empty, delta={kind: {"delta": piece}})

    def call(self, call_id: str, name: str, given: str, at: str) -> Iterator[Fields]:
        """A part of a tool call; its arguments come as all that is known of them so far."""
        yield from self.write("ToolCallDelta", "", at)
        known = self.calls.get(call_id, ["", ""])[1]
        self.calls[call_id] = [name, given]
        yield from self.write("ToolCallDelta", given.removeprefix(known), at)

    def whole(self, at: str) -> Iterator[Fields]:
        """The answer is whole; a second one is of the next iteration."""
        yield from self.write("Text", "", at)
        self.is_whole, self.answer = True, self.text
        yield self.event("MessageEnd", message=self.message(self.usage or {}))

    def spend(self, last: Fields) -> None:
        """What the last message used and cost."""
        used = {ours: count_field(last, theirs) for ours, theirs in _USAGE.items()}
        all_of_it = used["input"] + used["output"] + used["cache_read"] + used["cache_write"]
        self.usage = {**used, "total_tokens": all_of_it}
        cost = last.get("Cost")
        self.cost = cost if isinstance(cost, int | float) and not isinstance(cost, bool) else None
        self.answered_by = text_field(last, "Model")

    def message(self, usage: Fields, *, is_placeholder: bool = False) -> Fields:
        """Return the answer of the open turn as phi-core writes messages."""
        provider, _, model = self.model.rpartition("/")
        said: Fields = {
            "role": "assistant",
            "content": [] if is_placeholder else list(self._content()),
            "stopReason": "error" if self.error else "toolUse" if self.calls else "stop",
            "model": self.answered_by or model,
            "provider": provider,
            "usage": {name: count_field(usage, name) for name in COUNTS},
        }
        return said | {"error_message": self.error} if self.error else said

    def event(self, event_type: str, /, **fields: Json) -> Fields:
        """Return an event of this loop."""
        return {"type": event_type, "loop_id": self.loop_id, **fields}

    def prompt(self, content: Json) -> Iterator[Fields]:
        """What a person said."""
        message: Fields = {"role": "user", "content": content}
        yield self.event("MessageStart", message=message)
        yield self.event("MessageEnd", message=message)

    def resolved(self, key: str, decision: str | None, *, timestamp: Json = None) -> Fields:
        """A question was answered; None where nobody said how."""
        return self.event(
            "ApprovalResolved",
            session_id=self.session_id,
            approval_id=key,
            decision=decision,
            inferred=True,
            timestamp=timestamp,
        )

    def goes_on(self) -> Iterator[Fields]:
        """The agent works on, so whatever it asked was answered; only of a limit do we know how."""
        for key, kind in self.waits:
            yield self.resolved(key, "granted" if kind == "limit" else None)
            if kind == "limit":
                self.hit_limit = False
        self.waits = []

    def compacted(self, at: str, *, after: int | None) -> Iterator[Fields]:
        """A compaction is over whose size afterwards is known now, or never will be."""
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

    def last_words(self, at: str) -> Iterator[Fields]:
        """End what has said all that it will."""
        yield from self.compacted(at, after=None)
        if self.usage or self.is_whole or self.error:
            yield from self.end_turn(at)

    def end(self, at: str) -> Iterator[Fields]:
        """The stream stopped."""
        yield from self.last_words(at)
        for key, kind in self.waits:
            yield self.resolved(key, "denied" if kind == "limit" else None)
        message: Fields = {"role": "assistant", "content": [{"type": "text", "text": self.answer}]}
        yield self.event(
            "AgentEnd",
            messages=[message] if self.answer else [],
            usage=dict(self.total),
            timestamp=at,
            outcome="failed" if self.error else "limit" if self.hit_limit else "completed",
            error=self.error or None,
        )

    def irregular(self, code: str, words: str) -> Fields:
        """The line breaks a rule of cagent's specification."""
        return self.event("Notice", kind="irregular", severity="warning", code=code, text=words)

    def _content(self) -> Iterator[Fields]:
        if self.thinking:
            yield {"type": "thinking", "thinking": self.thinking}
        if self.text:
            yield {"type": "text", "text": self.text}
        for call_id, (name, given) in self.calls.items():
            yield {"type": "toolCall", "id": call_id, "name": name, "arguments": parse_arguments(given)}
