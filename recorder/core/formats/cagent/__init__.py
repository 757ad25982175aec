"""cagent's event stream: nested streams are sub-agents, iterations are turns, confirmations are approvals.

Events of tools, approvals and errors name no session: they belong to the innermost open stream. What its
specification asks for is checked, told as an irregularity, and never a reason to refuse a line.
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
    """Reads one producer's lines in order."""

    def __init__(self, state: Json, key: str, next_loop: NextLoop) -> None:
        self._course = StreamContext(load_state(state), key, next_loop)

    @property
    def state(self) -> Json:
        return dump_state(self._course.told)

    @property
    def before(self) -> str:
        """Return the key of lines that belong to the next stream."""
        return self._course.before

    def read(self, line: Fields, at: datetime) -> Translation:
        """Read a line. Raises Refused."""
        name = line.get("type")
        if not isinstance(name, str) or not is_id(name):
            raise InvalidLineError("bad_type", "type", "an event has a type, which is text")
        check_fields(name, line)
        told_at = parse_time(line.get("timestamp"))
        self._now(told_at, at)
        reading = Translation(name, timestamp=told_at)
        self._place(reading, line)
        read = TRANSLATORS.get(name)
        reading.understood = read is not None
        if read is not None:
            reading.events = [*irregularities(self._course, line), *read(self._course, line)]
        if name in _BEGINS:
            self._place(reading, line)
        return reading

    def end_of_stream(self, at: datetime) -> list[Fields]:
        """End the turns that have said all they will; their loops are cut off."""
        self._now(None, at)
        told, now = self._course.told, self._course.now
        ended = [event for stream in told.streams for event in stream.last_words(now)]
        self._course.told = ReaderState(at=told.at, begun=told.begun)
        return ended

    def _now(self, told_at: datetime | None, at: datetime) -> None:
        if told_at is not None:
            self._course.told.at = format_time(told_at)
        self._course.now = self._course.told.at or format_time(at)

    def _place(self, reading: Translation, line: Fields) -> None:
        stream, session_id = self._course.stream, text_field(line, "session_id")
        if stream is not None:
            reading.session_id, reading.loop_id = stream.session_id, stream.loop_id
        elif reading.loop_id is None or reading.name != "session_compaction":
            of_session = reading.name == "session_title"
            reading.session_id = session_id if of_session else None
            reading.loop_id = None if of_session else self._course.before
