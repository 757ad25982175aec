"""Reader of Grida's lifecycle events, the server-sent events of its `GET /events`.

The format is defined by `packages/grida-ai-agent/src/protocol/events.ts` of Grida's repository. A Grida turn
is one loop here:

- `turn-started` becomes AgentStart, `turn-finished` AgentEnd, `approval-requested` ApprovalRequested.
- Loops are numbered in their session: `{session_id}.{n}`.
- `pending_approval` is dropped: the approval has an event of its own. Messages, tools and usage are not part
  of the format, so these loops have none.
- An unknown type or reason is stored as not understood.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import cast

from recorder.core.events.fields import is_id
from recorder.core.formats import InvalidLineError
from recorder.core.formats.base import Fields, NextLoop, Translation, format_time, required_id, text_field
from recorder.core.records import Json

AGENT = "grida"
OUTCOMES = {"finish": "completed", "abort": "cancelled", "error": "failed"}
EVENTS = STARTED, FINISHED, APPROVAL_REQUESTED = "turn-started", "turn-finished", "approval-requested"
_NOTHING: Fields = {"input": 0, "output": 0}
_LAST_MS = 253_402_300_799_000  # the year 9999


class GridaReader:
    """Reads the events of one host in order; they may belong to many sessions."""

    def __init__(self, state: Json, _key: str, next_loop: NextLoop) -> None:
        self._open = cast("dict[str, str]", dict(state) if isinstance(state, dict) else {})  # loop by session
        self._next_loop = next_loop

    @property
    def state(self) -> Json:
        return cast("Json", self._open)

    def read(self, line: Fields, at: datetime) -> Translation:
        """Translate the `data` of one server-sent event. Raises InvalidLineError."""
        kind = line.get("type")
        if not is_id(kind):
            raise InvalidLineError("bad_type", "type", "an event has a type, which is text")
        session_id = required_id(line, "session_id")
        if not is_id(f"{session_id}.{10**9}"):
            raise InvalidLineError("bad_id", "session_id", "the id is too long")
        occurred_at = _time(line.get("at"))
        now = format_time(occurred_at or at)
        reading = Translation(kind, session_id=session_id, timestamp=occurred_at)
        if kind == STARTED:
            reading.events = list(self._start(session_id, line, now))
        elif kind == FINISHED and text_field(line, "reason") in OUTCOMES:
            reading.loop_id = self._open.get(session_id)
            reading.events = list(self._finish(session_id, line, now))
        elif kind == APPROVAL_REQUESTED:
            reading.events = [self._approval_requested(session_id, now)]
        else:
            reading.understood = False  # a type or reason of a later version
        reading.loop_id = self._open.get(session_id, reading.loop_id)
        return reading

    def end_of_stream(self, _at: datetime) -> list[Fields]:
        """Forget open loops, which the recorder aborts; there are no events to add."""
        self._open = {}
        return []

    def _start(self, session_id: str, line: Fields, now: str) -> Iterator[Fields]:
        if unfinished := self._open.pop(session_id, None):
            yield _end(unfinished, now, "cancelled", "Another turn began.")
        number = self._next_loop(session_id)
        loop_id = self._open[session_id] = f"{session_id}.{number}"
        message_id = text_field(line, "message_id")
        yield {
            "type": "AgentStart",
            "agent_id": AGENT,
            "session_id": session_id,
            "loop_id": loop_id,
            "parent_loop_id": f"{session_id}.{number - 1}" if number > 1 else None,
            "continuation_kind": "Default" if number > 1 else "Initial",
            "timestamp": now,
            "metadata": {"message_id": message_id} if message_id else None,
        }

    def _finish(self, session_id: str, line: Fields, now: str) -> Iterator[Fields]:
        if session_id not in self._open:  # started before we connected
            yield from self._start(session_id, line, now)
        yield _end(self._open.pop(session_id), now, OUTCOMES[text_field(line, "reason")], "")

    def _approval_requested(self, session_id: str, now: str) -> Fields:
        return {
            "type": "ApprovalRequested",
            "session_id": session_id,
            "loop_id": self._open.get(session_id),
            "kind": "unknown",
            "timestamp": now,
        }


def _end(loop_id: str, now: str, outcome: str, error: str) -> Fields:
    return {
        "type": "AgentEnd",
        "loop_id": loop_id,
        "messages": [],
        "usage": dict(_NOTHING),
        "timestamp": now,
        "outcome": outcome,
        "error": error or None,
    }


def _time(ms: Json) -> datetime | None:
    if isinstance(ms, bool) or not isinstance(ms, int) or not 0 <= ms <= _LAST_MS:
        return None
    return datetime.fromtimestamp(ms / 1000, UTC)
