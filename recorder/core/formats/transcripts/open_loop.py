"""An open loop of a transcript: collects the blocks of an answer, and writes turns, tools and the end."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Literal, cast

from recorder.core.formats.base import Fields, parse_time
from recorder.core.records import Json

COUNTS = ("input", "output", "reasoning", "cache_read", "cache_write", "cache_write_1h")
FINISHED = frozenset(
    ("end_turn", "stop", "stop_sequence", "STOP")
)  # stop reasons after which nothing follows

Refusal = Literal["", "cancelled", "denied"]  # why a call did not begin; "": it began


@dataclass(slots=True)
class OpenLoop:
    """The state of one loop between lines; all of it is JSON."""

    session_id: str
    loop_id: str
    turn: int = -1  # index of the open turn; -1: none has begun
    key: str = ""  # of the open answer; "": none has begun
    model: str = ""
    provider: str = ""
    stop: str = ""
    error: str = ""
    blocks: list[Json] = field(default_factory=list)  # of the answer that are not written yet
    text: str = ""  # of the last answer
    calls: dict[str, str] = field(default_factory=dict)  # name by id, of calls without a result
    usage: dict[str, int] = field(default_factory=dict)  # of the open answer
    total: dict[str, int] = field(default_factory=dict)  # of the finished turns
    cost: float = -1.0  # reported for the open answer, in dollars; -1: none
    has_answered: bool = False  # the message of the answer is written
    at: str = ""  # time of the last line
    answered_at: str = ""  # time of the open answer's last block
    request: str = ""  # id of its request; "" without one
    missed: str = ""  # why its provider says that the prompt cache was missed; "" if it does not
    result_at: str = ""  # time of the last tool result, at which the next turn begins; "": none
    held: dict[str, Json] = field(default_factory=dict)  # starts by id of calls that may have been denied

    def dump(self) -> Json:
        """Return the state as JSON. Its names never change."""
        return cast("Json", asdict(self))

    @classmethod
    def load(cls, stored: Json) -> OpenLoop:
        """Return a loop from its stored state."""
        return cls(**cast("dict[str, object]", stored))  # type: ignore[arg-type]

    def event(self, kind: str, **fields: Json) -> Fields:
        return {"type": kind, "loop_id": self.loop_id, **fields}

    def start(self, agent: str, at: str, metadata: Fields | None = None, **more: Json) -> list[Fields]:
        """Start the loop."""
        self.at = at
        about = {"agent_id": agent, "session_id": self.session_id, "timestamp": at}
        return [self.event("AgentStart", **about, metadata=metadata or None, **more)]

    def prompt(self, text: str, at: str) -> list[Fields]:
        """Add a message of the user; it begins the first turn, or joins the next one."""
        events = self._begin_turn(at) if self.turn < 0 or self.key or self._is_closed else []
        content: list[Json] = [{"type": "text", "text": text}]
        return [*events, self.event("MessageEnd", message={"role": "user", "content": content})]

    def answer(self, key: str, at: str, blocks: list[Fields], **head: str) -> list[Fields]:
        """Add blocks to the answer with this key; another key begins another turn."""
        events: list[Fields] = []
        if self.key and self.key != key:
            events += self.finish_turn(at)
        if self.turn < 0 or not self.key:
            if self.turn < 0 or self._is_closed:
                events += self._begin_turn(self.result_at or at)
            self.key = key
        self.model, self.provider = head.get("model") or self.model, head.get("provider") or self.provider
        self.stop, self.error = head.get("stop") or self.stop, head.get("error") or self.error
        self.request = head.get("request") or self.request
        self.missed = head.get("missed") or self.missed
        self.at = self.answered_at = at
        for block in blocks:
            if block not in self.blocks:
                self.blocks.append(block)
        return events

    def set_usage(self, counts: dict[str, int], cost: float = -1.0) -> None:
        """Set the usage of the open answer; of several reports the one with the most output counts."""
        if counts.get("output", 0) >= self.usage.get("output", 0):
            self.usage, self.cost = counts, cost

    def finish_message(self, *, starts_tools: bool = True) -> list[Fields]:
        """Write the message of the open answer, and start its tools unless their results decide."""
        events = self._message() if self.key and self.blocks else []
        return events + (self._start_held() if starts_tools else [])

    def end_tool(
        self, call: str, text: str, at: str, *, has_failed: bool, refusal: Refusal = ""
    ) -> list[Fields]:
        """End a tool call with its result; one that was refused before it began has no start."""
        events = self.finish_message(starts_tools=False)
        name = self.calls.pop(call, "")
        if not name:
            return events
        self.at = self.result_at = at
        start = cast("Fields | None", self.held.pop(call, None))
        result: Fields = {"content": [{"type": "text", "text": text}]}
        end = self.event(
            "ToolExecutionEnd",
            tool_call_id=call,
            tool_name=name,
            result=result,
            is_error=has_failed and not refusal,
            timestamp=at,
        )
        if start is None or not refusal:
            return [*events, *([] if start is None else [start]), end]
        return [*events, *(self._denial(call, name, at) if refusal == "denied" else []), end]

    def link(self, call: str, name: str, child_loop_id: str, child_session_id: str = "") -> Fields:
        """Link a loop to the tool call that started it; its session is this one unless another is named."""
        return {
            "type": "SubAgentLinked",
            "parent_session_id": self.session_id,
            "parent_loop_id": self.loop_id,
            "tool_call_id": call,
            "tool_name": name,
            "child_session_id": child_session_id or self.session_id,
            "child_loop_id": child_loop_id,
        }

    def tool_name(self, call: str) -> str:
        """Return the tool of an open call; "" if there is none with this id."""
        waiting = (b for b in self.blocks if isinstance(b, dict) and b.get("id") == call)
        return self.calls.get(call) or next((str(b["name"]) for b in waiting), "")

    def compaction_start(self, at: str, tokens: int | None) -> list[Fields]:
        """End the open turn and start a compaction; `tokens` is what the context held."""
        started = self.event("CompactionStarted", estimated_tokens=tokens, message_count=None, timestamp=at)
        return [*self.finish_turn(at), started]

    def compaction_end(self, at: str, tokens: int | None, summary: str) -> Fields:
        """End a compaction; transcripts do not say how many messages it left out."""
        unknown = ("messages_before", "messages_after", "estimated_tokens_after", "loops_compacted")
        return self.event(
            "CompactionEnded",
            **dict.fromkeys(unknown),
            estimated_tokens_before=tokens,
            timestamp=at,
            summary=summary or None,
        )

    def compaction(self, at: str, tokens: int | None, summary: str) -> list[Fields]:
        """Return a compaction that a transcript records in one line."""
        return [*self.compaction_start(at, tokens), self.compaction_end(at, tokens, summary)]

    def finish_turn(self, at: str) -> list[Fields]:
        """Write what remains of the open turn, and end it."""
        if self.turn < 0 or self._is_closed:
            return []
        events = self.finish_message()
        if not self.key:
            return events
        content: list[Json] = [{"type": "text", "text": self.text}] if self.text else []
        for name in COUNTS:
            self.total[name] = self.total.get(name, 0) + self.usage.get(name, 0)
        end = self.event(
            "TurnEnd",
            message={"role": "assistant", "content": content, **self._head(), **self._about()},
            usage=cast("Json", _usage(self.usage)),
            timestamp=self.at or at,
            tool_results=[],
            turn_index=self.turn,
        )
        if self.cost >= 0:
            end["cost"] = self.cost
        self.key, self.usage, self.cost, self.error, self.request = "", {}, -1.0, "", ""
        self.missed = ""
        self.has_answered = True
        return [*events, end]

    def end(self, at: str, outcome: str = "", error: str = "") -> list[Fields]:
        """End the loop: failed after a failed answer, else completed unless `outcome` says otherwise."""
        failed = self.error
        events = self.finish_turn(at)
        content: list[Json] = [{"type": "text", "text": self.text[:400]}] if self.text else []
        messages: list[Json] = [{"role": "assistant", "content": content}] if content else []
        return [
            *events,
            self.event(
                "AgentEnd",
                messages=messages,
                usage=cast("Json", _usage(self.total)),
                timestamp=at,
                outcome=outcome or ("failed" if failed else "completed"),
                error=error or failed or None,
            ),
        ]

    @property
    def is_finished(self) -> bool:
        """Return whether the last answer asked for nothing more."""
        calls = any(isinstance(b, dict) and b.get("type") == "toolCall" for b in self.blocks)
        return bool(self.error) or (self.stop in FINISHED and not calls and not self.calls)

    @property
    def has_text(self) -> bool:
        """Return whether the last answer has said something."""
        return bool(self.text) or any(isinstance(b, dict) and b.get("type") == "text" for b in self.blocks)

    @property
    def _is_closed(self) -> bool:
        return self.turn >= 0 and not self.key and self.has_answered

    def _message(self) -> list[Fields]:
        """Write the blocks of the open answer as a message; its tools wait to be started."""
        message = {"role": "assistant", "content": list(self.blocks), **self._head()}
        texts = [str(b["text"]) for b in self.blocks if isinstance(b, dict) and b.get("type") == "text"]
        self.text = "\n".join(texts) or self.text
        for block in self.blocks:
            if isinstance(block, dict) and block.get("type") == "toolCall":
                call, name = str(block["id"]), str(block["name"])
                self.calls[call] = name
                about: Fields = {"tool_call_id": call, "tool_name": name, "args": block.get("arguments")}
                self.held[call] = self.event("ToolExecutionStart", **about, timestamp=self.at)
        self.blocks, self.has_answered = [], True
        return [self.event("MessageEnd", message=message)]

    def _start_held(self) -> list[Fields]:
        starts = cast("list[Fields]", list(self.held.values()))
        self.held = {}
        return starts

    def _denial(self, call: str, name: str, at: str) -> list[Fields]:
        about: Fields = {"approval_id": call, "tool_call_id": call, "timestamp": at}
        requested = self.event("ApprovalRequested", **about, command=name)
        return [requested | {"kind": "tool"}, self.event("ApprovalResolved", **about, decision="denied")]

    def _begin_turn(self, at: str) -> list[Fields]:
        events = self.finish_turn(at)
        self.turn += 1
        self.key, self.has_answered, self.text, self.stop, self.result_at = "", False, "", "", ""
        trigger = "Continuation" if self.turn else "User"
        return [*events, self.event("TurnStart", turn_index=self.turn, triggered_by=trigger, timestamp=at)]

    def _about(self) -> Fields:
        """Return what an answer is matched by with the telemetry about it, and its cache diagnostics."""
        found: Fields = {"requestId": self.request} if self.request else {}
        if self.missed:
            found["diagnostics"] = {"cache_miss_reason": self.missed}
        at = parse_time(self.answered_at)
        return found if at is None else found | {"timestamp": round(at.timestamp() * 1000)}

    def _head(self) -> Fields:
        stop = "error" if self.error else self.stop
        head: Fields = {"model": self.model, "provider": self.provider, "stopReason": stop}
        return head | ({"error_message": self.error} if self.error else {})


def counts(fields: Fields, names: dict[str, str], *, includes_cache: bool = False) -> dict[str, int]:
    """Return token counts under our names; `input` leaves cached tokens out."""
    found = {ours: _count(fields.get(theirs)) for ours, theirs in names.items()}
    if includes_cache:
        cached = found.get("cache_read", 0) + found.get("cache_write", 0)
        found["input"] = max(0, found.get("input", 0) - cached)
    return found


def _count(value: Json) -> int:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
    return value if is_count else 0  # type: ignore[return-value]


def _usage(found: dict[str, int]) -> dict[str, int]:
    output = found.get("output", 0)
    known = {name: found.get(name, 0) for name in COUNTS}
    return known | {
        "reasoning": min(known["reasoning"], output),
        "cache_write_1h": min(known["cache_write_1h"], known["cache_write"]),
    }
