"""An open loop of a transcript: shows each block of an answer when its line comes, and ends what has ended.

Invariants. What is shown is what the lines so far say: blocks, calls and usage of the open answer are events
at once, and the end of its turn settles them. An end is provisional: a line that continues an ended loop
reopens it, so that a file which was read too early gives the records of the whole file.

Cost: linear in the blocks of a line. The state is bounded, whatever a transcript holds.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, fields
from typing import Literal, cast

from recorder.core.events.fields import is_id
from recorder.core.formats.base import Fields, parse_time, text_field
from recorder.core.formats.transcripts import other_calls
from recorder.core.formats.transcripts.fields import (
    answer_text,
    forget_first,
    linked,
    stop_outcome,
    unseen,
)
from recorder.core.formats.transcripts.token_counts import COUNTS, usage_event
from recorder.core.records import Json

CALLS_MAX = 200  # calls without a result that are waited for

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
    blocks: list[Json] = field(default_factory=list)  # that an earlier release had not written yet
    text: str = ""  # of the last answer
    calls: dict[str, str] = field(default_factory=dict)  # name by id, of calls without a result
    usage: dict[str, int] = field(default_factory=dict)  # of the open answer
    total: dict[str, int] = field(default_factory=dict)  # of the finished turns
    cost: float = -1.0  # reported for the open answer, in dollars; -1: none
    has_answered: bool = False  # a part of the answer is written
    at: str = ""  # time of the last line
    answered_at: str = ""  # time of the open answer's last block
    request: str = ""  # id of its request; "" without one
    missed: str = ""  # why its provider says that the prompt cache was missed; "" if it does not
    result_at: str = ""  # time of the last tool result, at which the next turn begins; "": none
    held: dict[str, Json] = field(default_factory=dict)  # starts that an earlier release had not written yet
    seen: dict[str, int] = field(default_factory=dict)  # hashes of the blocks of the open answer
    waits: dict[str, str] = field(default_factory=dict)  # name by id, of calls that wait for a person
    others: list[Json] = field(default_factory=list)  # calls of other models within the open answer
    settled: str = ""  # key of the last answer with such calls, whose turn has ended
    compacting: bool = False
    ended: Json = None  # the state before its provisional end; None: it has not ended
    is_aborted: bool = False  # it ended because its stream did

    def dump(self) -> Json:
        """Return the state as JSON. Its names never change."""
        return {each.name: copy(getattr(self, each.name)) for each in fields(self)}

    @classmethod
    def load(cls, stored: Json) -> OpenLoop:
        return cls(**cast("dict[str, object]", stored))  # type: ignore[arg-type]

    def event(self, kind: str, **more: Json) -> Fields:
        return {"type": kind, "loop_id": self.loop_id, **more}

    def start(self, agent: str, at: str, metadata: Fields | None = None, **more: Json) -> list[Fields]:
        """Start the loop."""
        self.at = at
        about = {"agent_id": agent, "session_id": self.session_id, "timestamp": at}
        return [self.event("AgentStart", **about, metadata=metadata or None, **more)]

    def prompt(self, text: str, at: str) -> list[Fields]:
        """Add a message of the user; it begins the first turn, or joins the next one."""
        events = self.resume()
        if self.turn < 0 or self.key or self._is_closed:
            events += self._begin_turn(at)
        content: list[Json] = [{"type": "text", "text": text}]
        return [*events, self.event("MessageEnd", message={"role": "user", "content": content})]

    def answer(self, key: str, at: str, blocks: list[Fields], **head: str) -> list[Fields]:
        """Add blocks to the answer with this key; another key begins another turn."""
        events = self.resume()
        if self.key and self.key != key:
            events += self.finish_turn(at)
        if self.turn < 0 or not self.key:
            if self.turn < 0 or self._is_closed:
                events += self._begin_turn(self.result_at or at)
            self.key, self.seen = key, {}
        self.model, self.provider = head.get("model") or self.model, head.get("provider", self.provider)
        self.stop, self.error = head.get("stop") or self.stop, head.get("error") or self.error
        self.request = head.get("request") or self.request
        self.missed = head.get("missed") or self.missed
        self.at = self.answered_at = at
        return events + self._write(unseen(blocks, self.seen))

    def set_usage(self, found: dict[str, int], cost: float = -1.0) -> list[Fields]:
        """Set the usage of the open answer; of several reports the one with the most output counts."""
        is_less = found.get("output", 0) < self.usage.get("output", 0)
        if is_less or (self.key and self.key == self.settled) or (found, cost) == (self.usage, self.cost):
            return []
        self.usage, self.cost = found, cost
        report = self.event(
            "UsageReported",
            turn_index=self.turn,
            message={"role": "assistant", "content": [], **self._head()},
            usage=cast("Json", usage_event(found)),
            timestamp=self.at,
        )
        return [report | ({"cost": cost} if cost >= 0 else {})]

    def call(self, key: str, at: str, found: dict[str, int], cost: float = -1.0, **head: str) -> list[Fields]:
        """Add a turn for a call of the model that has no answer in the transcript."""
        events = [*self.resume(), *self._begin_turn(at)]
        events += [*self.answer(key, at, [], **head, stop="stop"), *self.set_usage(found, cost)]
        return [*events, *self.finish_turn(at)]

    def end_tool(
        self, call: str, text: str, at: str, *, has_failed: bool, refusal: Refusal = "", granted: bool = False
    ) -> list[Fields]:
        """End a tool call with its result; one that was refused did not begin, one may have been granted."""
        events = self._unwritten() if self.ended is None else []
        if not self.tool_name(call):
            return events
        events += self.resume()
        name, was_waiting = self.calls.pop(call), self.waits.pop(call, "")
        self.at = self.result_at = at
        result: Fields = {"content": [{"type": "text", "text": text}]}
        about: Fields = {"tool_call_id": call, "tool_name": name, "result": result}
        end = self.event("ToolExecutionEnd", **about, is_error=has_failed and not refusal, timestamp=at)
        if refusal:
            end["has_begun"] = False
        if not was_waiting and (refusal == "denied" or granted):
            was_waiting = name
            events.append(self._approval_request(call, name, at, "tool"))
        if was_waiting:
            events.append(self._resolved(call, at, "denied" if refusal else "granted"))
        return [*events, end]

    def link(self, call: str, name: str, child_loop_id: str, child_session_id: str = "") -> Fields:
        """Link a loop to the tool call that started it; its session is this one unless another is named."""
        return linked(self.session_id, self.loop_id, call, name, child_loop_id, child_session_id)

    def tool_name(self, call: str) -> str:
        """Return the tool of an open call; "" if there is none with this id."""
        return self.calls.get(call, "")

    def compaction_start(self, at: str, tokens: int | None) -> list[Fields]:
        """End the open turn and start a compaction; `tokens` is what the context held."""
        events = [*self.resume(), *self.finish_turn(at)]
        self.compacting = True
        started = self.event("CompactionStarted", estimated_tokens=tokens, message_count=None, timestamp=at)
        return [*events, started]

    def compaction_end(
        self, at: str, tokens: int | None, summary: str, *, after: int | None = None
    ) -> list[Fields]:
        """End a compaction; transcripts do not say how many messages it left out."""
        events = self.resume()
        self.compacting = False
        unknown = ("messages_before", "messages_after", "loops_compacted")
        end = self.event(
            "CompactionEnded",
            **dict.fromkeys(unknown),
            estimated_tokens_before=tokens,
            estimated_tokens_after=after,
            timestamp=at,
            summary=summary or None,
        )
        return [*events, end]

    def compaction(self, at: str, tokens: int | None, summary: str) -> list[Fields]:
        return [*self.compaction_start(at, tokens), *self.compaction_end(at, tokens, summary)]

    def finish_turn(self, at: str) -> list[Fields]:
        """End the open turn, if it has an answer."""
        events = self._unwritten()
        if self.turn < 0 or self._is_closed or not self.key:
            return events
        content: list[Json] = [{"type": "text", "text": self.text}] if self.text else []
        self.total = {name: self.total.get(name, 0) + self.usage.get(name, 0) for name in COUNTS}
        end = self.event(
            "TurnEnd",
            message={"role": "assistant", "content": content, **self._head(), **self._about()},
            usage=cast("Json", usage_event(self.usage)),
            timestamp=self.at or at,
            tool_results=[],
            turn_index=self.turn,
        )
        if self.cost >= 0:
            end["cost"] = self.cost
        elif not self.usage and not self.error:  # a call that failed without usage used nothing
            end["has_usage"] = False
        key, self.key, self.usage, self.cost, self.error, self.request = self.key, "", {}, -1.0, "", ""
        self.missed, self.seen, self.has_answered = "", {}, True
        return [*events, end, *other_calls.written(self, key, at)]

    def end(self, at: str, outcome: str = "", error: str = "") -> list[Fields]:
        """End the loop, as its last answer did unless `outcome` says otherwise; a line may reopen it.

        A loop that its stream cut off is ended anew; one that has ended stays as it is.
        """
        if self.has_ended:
            return []
        events = self.resume()
        before = self.dump()
        failed, of_stop = self.error, stop_outcome(self.stop)
        events += self.finish_turn(at)
        end = self.end_event(at, outcome or ("failed" if failed else of_stop or "completed"), error or failed)
        self.ended, self.is_aborted = before, False
        return [*events, end]

    def end_event(self, at: str, outcome: str, error: str = "") -> Fields:
        """Return the event of an end; the state stays."""
        content: list[Json] = [{"type": "text", "text": self.text[:400]}] if self.text else []
        messages: list[Json] = [{"role": "assistant", "content": content}] if content else []
        return self.event(
            "AgentEnd",
            messages=messages,
            usage=cast("Json", usage_event(self.total)),
            timestamp=at,
            outcome=outcome,
            error=error or None,
        )

    def end_of_stream(self, at: str) -> list[Fields]:
        """End the loop if it came to an end, else its turn: the recorder aborts it. A line may reopen it."""
        return self.end(self.at or at) if self.ended is None and self.is_finished else self.cut_off(at)

    def cut_off(self, at: str) -> list[Fields]:
        """End the turn of a loop that has not ended: the recorder aborts it. A line may reopen it."""
        if self.ended is not None:
            return []
        before = self.dump()
        events = self.finish_turn(self.at or at)
        self.ended, self.is_aborted = before, True
        return events

    def resume(self) -> list[Fields]:
        """Continue the loop if it has ended: with its open answer, and the calls that have no result yet."""
        if self.ended is None:
            return self._unwritten()
        ended = OpenLoop.load(self.ended)
        has_ended_turn = bool(ended.key) and not ended.others  # else the turns of these are behind it
        for each in () if ended.others else fields(self):
            setattr(self, each.name, getattr(ended, each.name))
        self.ended, self.is_aborted = None, False
        reopened = self.event(
            "LoopReopened",
            session_id=self.session_id,
            turn_index=self.turn if has_ended_turn else None,
            tool_call_ids=cast("Json", list(self.calls)),
            is_compacting=self.compacting,
        )
        return [reopened]

    @property
    def key_at_end(self) -> str:
        """The key of the open answer; of a loop that has ended, the one that was open then."""
        return self.key if self.ended is None else text_field(cast("Fields", self.ended), "key")

    @property
    def is_finished(self) -> bool:
        """Return whether the last answer asked for nothing more."""
        return bool(self.error) or (bool(stop_outcome(self.stop)) and not self.calls)

    @property
    def is_over(self) -> bool:
        return self.ended is not None

    @property
    def has_ended(self) -> bool:
        """Return whether it came to an end, and was not cut off."""
        return self.ended is not None and not self.is_aborted

    @property
    def _is_closed(self) -> bool:
        return self.turn >= 0 and not self.key and self.has_answered

    def _write(self, blocks: list[Fields]) -> list[Fields]:
        """Write blocks of the open answer as a message, and start their calls."""
        if not blocks:
            return []
        message = {"role": "assistant", "content": cast("Json", blocks), **self._head()}
        self.text = answer_text(self.text, blocks)
        events = [self.event("MessageEnd", message=message)]
        for block in blocks:
            if block.get("type") == "toolCall" and is_id(block["id"]):
                events += self._start_call(str(block["id"]), str(block["name"]), block.get("arguments"))
        self.has_answered = True
        return events

    def _start_call(self, call: str, name: str, arguments: Json) -> list[Fields]:
        self.calls[call] = name
        forget_first(self.calls, CALLS_MAX)
        about: Fields = {"tool_call_id": call, "tool_name": name, "args": arguments}
        return [self.event("ToolExecutionStart", **about, timestamp=self.at)]

    def wait_for(self, call: str) -> list[Fields]:
        """Note that a call that has begun waits for the answer of a person."""
        name = self.tool_name(call)
        if not name or call in self.waits or self.ended is not None:
            return []
        self.waits[call] = name
        return [self._approval_request(call, name, self.at, "elicitation")]

    def _unwritten(self) -> list[Fields]:
        """Write what an earlier release had read and held back."""
        blocks, starts = cast("list[Fields]", self.blocks), cast("list[Fields]", list(self.held.values()))
        self.blocks, self.held = [], {}
        return [*starts, *(self._write(blocks) if blocks else [])]

    def _approval_request(self, call: str, name: str, at: str, kind: str) -> Fields:
        about: Fields = {"approval_id": call, "tool_call_id": call, "timestamp": at, "command": name}
        return self.event("ApprovalRequested", **about) | {"kind": kind}

    def _resolved(self, call: str, at: str, decision: str) -> Fields:
        about: Fields = {"approval_id": call, "tool_call_id": call, "timestamp": at}
        return self.event("ApprovalResolved", **about, decision=decision)

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
