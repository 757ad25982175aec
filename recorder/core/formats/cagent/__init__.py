"""Reader of docker/cagent's event stream (now docker-agent): one JSON object a line, or server-sent events.

The format is defined by `pkg/runtime/event.go` of cagent's repository, the order of events by
`pkg/runtime/loop.go`.

- A stream (stream_started to stream_stopped) is a loop, numbered in its session; an iteration is a turn.
- A stream inside another one is a sub-agent, linked to the tool call that runs (`structural`).
- Confirmations, elicitations and the iteration limit become approvals. cagent reports no answer to them: it
  is inferred from the events that follow (`inferred`).
- Warnings, model fallbacks, RAG and MCP progress, blocked hooks and shell output become notices.
- Events of tools, approvals and errors name no session: they belong to the innermost open stream. Lines
  outside a stream are adopted by the next one that starts.
- A line that breaks the order of events is recorded, with a notice of kind "irregular".
- Dropped: tool definitions (except the hint "destructive"), agents' descriptions and welcome messages,
  positions of messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from recorder.core.events.fields import is_id
from recorder.core.formats import InvalidLineError
from recorder.core.formats.base import Fields, NextLoop, Translation, format_time, parse_time, text_field
from recorder.core.formats.cagent import side_events, turns
from recorder.core.formats.cagent.fields import check_fields
from recorder.core.formats.cagent.state import (
    ReaderState,
    StreamContext,
    dump_state,
    irregularities,
    load_state,
)
from recorder.core.records import Json

TRANSLATORS: dict[str, Callable[[StreamContext, Fields], Iterator[Fields]]] = {
    "stream_started": turns.stream_started,
    "stream_stopped": turns.stream_stopped,
    "user_message": turns.user_message,
    "agent_choice": turns.agent_choice,
    "agent_choice_reasoning": turns.agent_choice,
    "partial_tool_call": turns.partial_tool_call,
    "message_added": turns.message_added,
    "token_usage": turns.token_usage,
    "toolset_info": turns.toolset_info,
    "tool_call": turns.tool_call,
    "tool_call_response": turns.tool_call_response,
    "tool_call_confirmation": side_events.tool_call_confirmation,
    "hook_blocked": side_events.hook_blocked,
    "elicitation_request": side_events.elicitation_request,
    "authorization_event": side_events.authorization_event,
    "max_iterations_reached": side_events.max_iterations_reached,
    "error": side_events.error,
    "warning": side_events.warning,
    "shell": side_events.shell,
    "model_fallback": side_events.model_fallback,
    "agent_info": side_events.agent_info,
    "team_info": side_events.team_info,
    "agent_switching": side_events.agent_switching,
    "session_title": side_events.session_title,
    "session_summary": side_events.session_summary,
    "session_compaction": side_events.session_compaction,
    "sub_session_completed": side_events.sub_session_completed,
    **dict.fromkeys(side_events.NOTICES, side_events.notice),
}
_BEGINS = ("stream_started", "session_compaction", "agent_choice", "agent_choice_reasoning", "message_added")


class CagentReader:
    """Translates the lines of one producer in order."""

    def __init__(self, state: Json, key: str, next_loop: NextLoop) -> None:
        self._context = StreamContext(load_state(state), key, next_loop)

    @property
    def state(self) -> Json:
        return dump_state(self._context.state)

    @property
    def before(self) -> str:
        """The `loop_id` of lines before a stream, by which the next stream adopts them."""
        return self._context.before

    def read(self, line: Fields, at: datetime) -> Translation:
        """Translate a line. Raises InvalidLineError."""
        name = line.get("type")
        if not isinstance(name, str) or not is_id(name):
            raise InvalidLineError("bad_type", "type", "an event has a type, which is text")
        check_fields(name, line)
        occurred_at = parse_time(line.get("timestamp"))
        self._set_now(occurred_at, at)
        translation = Translation(name, timestamp=occurred_at)
        self._place(translation, line)
        translate = TRANSLATORS.get(name)
        translation.understood = translate is not None
        if translate is not None:
            translation.events = [*irregularities(self._context, line), *translate(self._context, line)]
        if name in _BEGINS:
            self._place(translation, line)
        return translation

    def end_of_stream(self, at: datetime) -> list[Fields]:
        """End open turns. Open streams are forgotten: the recorder aborts their loops."""
        self._set_now(None, at)
        state, now = self._context.state, self._context.now
        events = [event for stream in state.streams for event in stream.finish(now)]
        self._context.state = ReaderState(at=state.at, stream_count=state.stream_count)
        return events

    def _set_now(self, occurred_at: datetime | None, at: datetime) -> None:
        if occurred_at is not None:
            self._context.state.at = format_time(occurred_at)
        self._context.now = self._context.state.at or format_time(at)

    def _place(self, translation: Translation, line: Fields) -> None:
        stream, session_id = self._context.stream, text_field(line, "session_id")
        if stream is not None:
            translation.session_id, translation.loop_id = stream.session_id, stream.loop_id
        elif translation.loop_id is None or translation.name != "session_compaction":
            of_session = translation.name == "session_title"
            translation.session_id = session_id if of_session else None
            translation.loop_id = None if of_session else self._context.before
