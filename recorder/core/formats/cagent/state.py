"""State of the cagent reader: open streams, and events that wait for the next stream to start."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import cast

from recorder.core.events.fields import is_id
from recorder.core.formats.base import Fields, NextLoop, inverted, object_field, rename_fields, text_field
from recorder.core.formats.cagent.stream import Stream
from recorder.core.records import Json

COSTS_MAX = 64  # sessions whose cost so far is known
LEAST_USD = 1e-9  # sums of floats differ by less
# Stored name -> attribute, where they differ.
_STORED_NAMES = {"strangers": "unknown_agents", "begun": "stream_count"}
_STORED_NAMES_OF_STREAM = {
    "is_whole": "is_complete",
    "asked": "held_calls",
    "results": "pending_results",
    "answered_by": "answer_model",
    "waits": "open_questions",
    "context": "context_tokens",
    "is_pass": "is_compaction",
}


@dataclass(slots=True)
class ReaderState:
    """What the reader keeps between lines. Stored as JSON, under the names of `_STORED_NAMES`."""

    streams: list[Stream] = field(default_factory=list)  # innermost last
    at: str = ""  # time of the last line that has one
    models: dict[str, str] = field(default_factory=dict)  # by agent: provider/model
    team: list[Json] = field(default_factory=list)  # `available_agents` of team_info
    unknown_agents: list[str] = field(default_factory=list)  # not in the team; reported once each
    prompts: list[list[Json]] = field(default_factory=list)  # session id and content; before a stream
    notices: list[Fields] = field(default_factory=list)  # before a stream
    stream_count: int = 0  # streams started by this producer
    costs: dict[str, float] = field(default_factory=dict)  # USD so far, by session, the newest last
    last_compaction: list[str] = field(default_factory=list)  # until its cost comes


@dataclass(slots=True)
class StreamContext:
    """The reader's state while it translates a line. `now` is the time of the last line that has one."""

    state: ReaderState
    key: str  # of the producer
    next_loop: NextLoop
    now: str = ""

    @property
    def stream(self) -> Stream | None:
        return self.state.streams[-1] if self.state.streams else None

    @property
    def before(self) -> str:
        """The `loop_id` of lines before a stream, by which that stream adopts them."""
        return f"(before stream {self.key}.{self.state.stream_count + 1})"

    def begin(self, session_id: str, agent: str, *, kind: str = "", loop_id: str = "") -> Iterator[Fields]:
        """Start a stream. Inside another one it is a sub-agent's, and linked to it.

        `kind` overrides the continuation kind; `loop_id` is set for a stream that restarts.
        """
        state, parent = self.state, self.stream
        number = 1 if loop_id else self.next_loop(session_id)
        model = state.models.get(agent, "")
        stream = Stream(
            session_id, loop_id or f"{session_id}.{number}", agent, model, is_compaction=bool(kind)
        )
        before = f"{session_id}.{number - 1}" if number > 1 else None
        kind = kind or ("Default" if number > 1 else "Initial")
        yield _agent_start(stream, before, kind, self.now) | {"adopts": self.before}
        if parent is not None:
            yield _link(parent, stream, self.now)
        state.stream_count += 1
        state.streams.append(stream)
        yield from self._waiting_events(stream)

    def note_compaction(self, stream: Stream) -> None:
        """Remember a completed compaction until its cost comes."""
        at = stream.compaction_at or self.now
        self.state.last_compaction = [stream.session_id, stream.loop_id, stream.agent, stream.model, at]

    def bill_compaction(self, session_id: str, usage: Fields) -> Iterator[Fields]:
        """Record the model call of the last compaction as a loop, if the session's cost grew by it.

        cagent reports its cost in no other way: the cost of the session so far grows by more than that of the
        last message. The loop has one turn, whose tokens are unknown.
        """
        grown, state = self._grown(session_id, usage), self.state
        if not state.last_compaction or state.last_compaction[0] != session_id:
            return
        (_, loop_id, agent, model, began), state.last_compaction = state.last_compaction, []
        if grown is None or grown < LEAST_USD:
            return
        call = Stream(session_id, f"{session_id}.{self.next_loop(session_id)}", agent, model)
        yield _agent_start(call, loop_id, "Compaction", began)
        yield from call.paid_turn(grown, self.now)
        yield from call.end(self.now)

    def _grown(self, session_id: str, usage: Fields) -> float | None:
        """Return by how much a session's cost grew beyond its last message's, in USD, if it is known."""
        cost, costs = _usd(usage.get("cost")), self.state.costs
        if cost is None:
            return None
        before = costs.pop(session_id, None)
        costs[session_id] = cost
        if len(costs) > COSTS_MAX:
            del costs[next(iter(costs))]
        of_message = _usd(object_field(usage, "last_message").get("Cost")) or 0.0
        return None if before is None else round(cost - before - of_message, 12)

    def switch(self, stream: Stream, before: str, to: str) -> Iterator[Fields]:
        """Switch the agent, and its model, inside a stream."""
        stream.agent = to
        stream.model = self.state.models.get(to, stream.model)
        names: Fields = {"from": before or None, "to": to}
        yield stream.event("AgentSwitched", **names, timestamp=self.now)

    def notice(self, kind: str, text: str, more: Fields, severity: str = "info") -> Iterator[Fields]:
        """Add a notice to the open stream. Without one, it waits for the next stream."""
        notice: Fields = {
            "type": "Notice",
            "kind": kind,
            "severity": severity,
            "text": text or None,
            "data": more or None,
            "timestamp": self.now,
        }
        if self.stream is None:
            self.state.notices.append(notice)
        else:
            yield {**notice, "loop_id": self.stream.loop_id}

    def _waiting_events(self, stream: Stream) -> Iterator[Fields]:
        """Yield what waited for this stream: the team, notices, and prompts of its session or of none."""
        state = self.state
        if state.team:
            names = [each.get("name") for each in state.team if isinstance(each, dict)]
            yield stream.event("SessionInfo", session_id=stream.session_id, agents=names)
        for notice in state.notices:
            yield {**notice, "loop_id": stream.loop_id}
        state.notices = []
        prompts = [content for session, content in state.prompts if session in ("", stream.session_id)]
        state.prompts = [each for each in state.prompts if each[0] not in ("", stream.session_id)]
        for content in prompts:
            yield from stream.open_turn(self.now)
            yield from stream.prompt(content)


def dump_state(state: ReaderState) -> Json:
    """Return the state as JSON, under its stored names."""
    fields = cast("dict[str, Json]", asdict(state))
    streams = cast("list[Fields]", fields["streams"])
    names = inverted(_STORED_NAMES_OF_STREAM)
    fields["streams"] = [rename_fields(stream, names) for stream in streams]
    return rename_fields(fields, inverted(_STORED_NAMES))


def load_state(stored: Json) -> ReaderState:
    """Return the state that `dump_state` returned, or an empty one for None."""
    if not isinstance(stored, dict):
        return ReaderState()
    fields = rename_fields(stored, _STORED_NAMES)
    streams = [
        Stream(**rename_fields(stream, _STORED_NAMES_OF_STREAM))  # type: ignore[arg-type]  # of `dump_state`
        for stream in cast("list[Fields]", fields.pop("streams"))
    ]
    return ReaderState(streams=streams, **fields)  # type: ignore[arg-type]  # as above


def _agent_start(stream: Stream, parent: str | None, kind: str, at: str) -> Fields:
    return stream.event(
        "AgentStart",
        agent_id=stream.agent if is_id(stream.agent) else "agent",
        session_id=stream.session_id,
        parent_loop_id=parent,
        continuation_kind=kind,
        timestamp=at,
        metadata=None,
        config_snapshot=_config(stream.model),
    )


def _usd(value: Json) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _config(model: str) -> Json:
    provider, _, name = model.rpartition("/")
    if not name:
        return None
    return {"model": name, "provider": provider, "config_id": None}


def _link(parent: Stream, child: Stream, now: str) -> Fields:
    """Link a nested stream to the tool call that runs; cagent runs tool calls one after another."""
    tasks = [call for call in parent.running if parent.calls.get(call, [""])[0] == "transfer_task"]
    call = (tasks or parent.running or [""])[-1]
    return {
        "type": "SubAgentLinked",
        "parent_session_id": parent.session_id,
        "parent_loop_id": parent.loop_id,
        "tool_call_id": call or None,
        "tool_name": parent.calls.get(call, [""])[0] or None,
        "child_session_id": child.session_id,
        "child_loop_id": child.loop_id,
        "certainty": "structural",
        "timestamp": now,
    }


def irregularities(context: StreamContext, line: Fields) -> Iterator[Fields]:
    """Report a line that breaks the order of events, and switch agents where no event announced it.

    After a handoff cagent only names the new agent in later lines.
    """
    stream, name = context.stream, text_field(line, "type")
    if stream is None:
        return
    session_id = text_field(line, "session_id")
    if session_id and session_id != stream.session_id and name not in _OF_OTHER_SESSIONS:
        text = f"{name} names another session than its stream: {session_id}"
        yield stream.irregularity("foreign_session", text)
    agent = text_field(line, "agent_name")
    if not agent or name in _ABOUT_AGENTS:
        return
    team = [text_field(each, "name") for each in context.state.team if isinstance(each, dict)]
    if team and agent not in team and agent not in context.state.unknown_agents:
        context.state.unknown_agents.append(agent)
        yield stream.irregularity("unknown_agent", f"{agent} is not in the team that was announced.")
    if stream.agent and agent != stream.agent and name in _OF_TURN:
        yield from context.switch(stream, stream.agent, agent)


_OF_TURN = ("toolset_info", "agent_choice", "agent_choice_reasoning", "partial_tool_call", "tool_call")
_OF_OTHER_SESSIONS = (
    "stream_started",
    "stream_stopped",
    "session_title",
    "sub_session_completed",
    "user_message",
)
_ABOUT_AGENTS = ("agent_info", "team_info", "agent_switching", "stream_started")
