"""Where a producer's lines have got to: its open streams, and what was told before the next one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import cast

from recorder.core.events.fields import is_id
from recorder.core.formats.base import Fields, NextLoop, text_field
from recorder.core.formats.cagent.stream import Stream
from recorder.core.records import Json


@dataclass(slots=True)
class ReaderState:
    """What has to be known to read the next line."""

    streams: list[Stream] = field(default_factory=list)  # the innermost is the last
    at: str = ""  # the last time that a line carried
    models: dict[str, str] = field(default_factory=dict)  # provider/model by agent
    team: list[Json] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)  # agents that are not in the team, told of once
    prompts: list[list[Json]] = field(default_factory=list)  # session and content, before a stream
    notices: list[Fields] = field(default_factory=list)  # before a stream
    begun: int = 0  # streams


@dataclass(slots=True)
class StreamContext:
    """What was told, and who is asked meanwhile. `now` is the line's time, else the last one known."""

    told: ReaderState
    key: str  # the producer's own
    next_loop: NextLoop
    now: str = ""

    @property
    def stream(self) -> Stream | None:
        return self.told.streams[-1] if self.told.streams else None

    @property
    def before(self) -> str:
        """Return the key of lines that come before a stream and belong to it."""
        return f"(before stream {self.key}.{self.told.begun + 1})"

    def begin(self, session_id: str, agent: str, *, kind: str = "", loop_id: str = "") -> Iterator[Fields]:
        """A stream begins; inside another one it is a sub-agent's."""
        told, parent = self.told, self.stream
        number = 1 if loop_id else self.next_loop(session_id)
        model = told.models.get(agent, "")
        stream = Stream(session_id, loop_id or f"{session_id}.{number}", agent, model, is_pass=bool(kind))
        yield stream.event(
            "AgentStart",
            agent_id=agent if is_id(agent) else "agent",
            session_id=session_id,
            parent_loop_id=f"{session_id}.{number - 1}" if number > 1 else None,
            continuation_kind=kind or ("Default" if number > 1 else "Initial"),
            timestamp=self.now,
            metadata=None,
            config_snapshot=_config(model, agent),
            adopts=self.before,
        )
        if parent is not None:
            yield _link(parent, stream, self.now)
        told.begun += 1
        told.streams.append(stream)
        yield from self._told_before(stream)

    def switch(self, stream: Stream, before: str, to: str) -> Iterator[Fields]:
        """Another agent takes over inside the stream."""
        stream.agent = to
        stream.model = self.told.models.get(to, stream.model)
        names: Fields = {"from": before or None, "to": to}
        yield stream.event("AgentSwitched", **names, timestamp=self.now)

    def tell(self, kind: str, words: str, more: Fields, severity: str = "info") -> Iterator[Fields]:
        """Something worth knowing, now or when a stream begins."""
        notice: Fields = {
            "type": "Notice",
            "kind": kind,
            "severity": severity,
            "text": words or None,
            "data": more or None,
            "timestamp": self.now,
        }
        if self.stream is None:
            self.told.notices.append(notice)
        else:
            yield {**notice, "loop_id": self.stream.loop_id}

    def _told_before(self, stream: Stream) -> Iterator[Fields]:
        told = self.told
        if told.team:
            names = [each.get("name") for each in told.team if isinstance(each, dict)]
            yield stream.event("SessionInfo", session_id=stream.session_id, agents=names)
        for notice in told.notices:
            yield {**notice, "loop_id": stream.loop_id}
        told.notices = []
        mine = [content for session, content in told.prompts if session in ("", stream.session_id)]
        told.prompts = [each for each in told.prompts if each[0] not in ("", stream.session_id)]
        for content in mine:
            yield from stream.open_turn(self.now)
            yield from stream.prompt(content)


def dump_state(told: ReaderState) -> Json:
    return cast("Json", asdict(told))


def load_state(state: Json) -> ReaderState:
    """Return what `saved` kept."""
    if not isinstance(state, dict):
        return ReaderState()
    kept = dict(state)
    streams = [Stream(**each) for each in kept.pop("streams")]  # type: ignore[arg-type, union-attr]  # as `saved` left it
    return ReaderState(streams=streams, **kept)  # type: ignore[arg-type]  # as above


def _config(model: str, agent: str) -> Json:
    provider, _, name = model.rpartition("/")
    if not name:
        return None
    return {"model": name, "provider": provider, "config_id": None, "name": agent}


def _link(parent: Stream, child: Stream, now: str) -> Fields:
    """Tie a nested stream to the tool call that runs now: they run one after another."""
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


def irregularities(course: StreamContext, line: Fields) -> Iterator[Fields]:
    """Tell what the specification forbids, and that another agent took over without a word."""
    stream, name = course.stream, text_field(line, "type")
    if stream is None:
        return
    given = text_field(line, "session_id")
    if given and given != stream.session_id and name not in _OF_OTHERS:
        yield stream.irregular("foreign_session", f"{name} names another session than its stream: {given}")
    agent = text_field(line, "agent_name")
    if not agent or name in _SAYS_AGENT:
        return
    team = [text_field(each, "name") for each in course.told.team if isinstance(each, dict)]
    if team and agent not in team and agent not in course.told.strangers:
        course.told.strangers.append(agent)
        yield stream.irregular("unknown_agent", f"{agent} is not in the team that was announced.")
    if stream.agent and agent != stream.agent and name in _OF_TURN:
        yield from course.switch(stream, stream.agent, agent)


_OF_TURN = ("toolset_info", "agent_choice", "agent_choice_reasoning", "partial_tool_call", "tool_call")
_OF_OTHERS = ("stream_started", "stream_stopped", "session_title", "sub_session_completed", "user_message")
_SAYS_AGENT = ("agent_info", "team_info", "agent_switching", "stream_started")
