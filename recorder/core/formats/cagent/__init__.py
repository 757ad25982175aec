"""cagent's event stream: nested streams are sub-agents, iterations are turns, confirmations are approvals.

Events of tools, approvals and errors name no session: they belong to the innermost open stream. What its
specification asks for is checked, told as an irregularity, and never a reason to refuse a line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from recorder.core.events.fields import is_id
from recorder.core.formats import Refused
from recorder.core.formats.base import Fields, NextLoop, Reading, stamp, text, time_of
from recorder.core.formats.cagent import side_events, turns
from recorder.core.formats.cagent.fields import check
from recorder.core.formats.cagent.state import Course, Told, checked, restored, saved
from recorder.core.records import Json

READ: dict[str, Callable[[Course, Fields], Iterator[Fields]]] = {
    "stream_started": turns.started,
    "stream_stopped": turns.stopped,
    "user_message": turns.asked_for,
    "agent_choice": turns.said,
    "agent_choice_reasoning": turns.said,
    "partial_tool_call": turns.calling,
    "message_added": turns.added,
    "token_usage": turns.used,
    "toolset_info": turns.iteration,
    "tool_call": turns.runs,
    "tool_call_response": turns.returned,
    "tool_call_confirmation": side_events.confirms,
    "hook_blocked": side_events.blocked,
    "elicitation_request": side_events.elicits,
    "authorization_event": side_events.authorised,
    "max_iterations_reached": side_events.at_limit,
    "error": side_events.failed,
    "warning": side_events.warned,
    "shell": side_events.shell,
    "model_fallback": side_events.fell_back,
    "agent_info": side_events.agent,
    "team_info": side_events.team,
    "agent_switching": side_events.switched,
    "session_title": side_events.titled,
    "session_summary": side_events.summarised,
    "session_compaction": side_events.compacts,
    "sub_session_completed": side_events.sub_session,
    **dict.fromkeys(side_events.NOTICES, side_events.noted),
}
_BEGINS = ("stream_started", "session_compaction", "agent_choice", "agent_choice_reasoning", "message_added")


class CagentReader:
    """Reads one producer's lines in order."""

    def __init__(self, state: Json, key: str, next_loop: NextLoop) -> None:
        self._course = Course(restored(state), key, next_loop)

    @property
    def state(self) -> Json:
        return saved(self._course.told)

    @property
    def before(self) -> str:
        """Return the key of lines that belong to the next stream."""
        return self._course.before

    def read(self, line: Fields, at: datetime) -> Reading:
        """Read a line. Raises Refused."""
        name = line.get("type")
        if not isinstance(name, str) or not is_id(name):
            raise Refused("bad_type", "type", "an event has a type, which is text")
        check(name, line)
        told_at = time_of(line.get("timestamp"))
        self._now(told_at, at)
        reading = Reading(name, timestamp=told_at)
        self._place(reading, line)
        read = READ.get(name)
        reading.understood = read is not None
        if read is not None:
            reading.events = [*checked(self._course, line), *read(self._course, line)]
        if name in _BEGINS:
            self._place(reading, line)
        return reading

    def flush(self, at: datetime) -> list[Fields]:
        """End the turns that have said all they will; their loops are cut off."""
        self._now(None, at)
        told, now = self._course.told, self._course.now
        ended = [event for stream in told.streams for event in stream.last_words(now)]
        self._course.told = Told(at=told.at, begun=told.begun)
        return ended

    def _now(self, told_at: datetime | None, at: datetime) -> None:
        if told_at is not None:
            self._course.told.at = stamp(told_at)
        self._course.now = self._course.told.at or stamp(at)

    def _place(self, reading: Reading, line: Fields) -> None:
        stream, session_id = self._course.stream, text(line, "session_id")
        if stream is not None:
            reading.session_id, reading.loop_id = stream.session_id, stream.loop_id
        elif reading.loop_id is None or reading.name != "session_compaction":
            of_session = reading.name == "session_title"
            reading.session_id = session_id if of_session else None
            reading.loop_id = None if of_session else self._course.before
