"""aidaemon's rows: its table events, and the usage of calls that its table token_usage adds.

A row names its task, or belongs to the one that runs in its session. Rows may be missing at the front, as
aidaemon prunes them: what comes of a task whose start is gone begins it, and says so.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import datetime

from recorder.core.events.fields import is_id, parse_timestamp
from recorder.core.formats import InvalidLineError
from recorder.core.formats.aidaemon.events import TRANSLATORS, Row, call_key
from recorder.core.formats.aidaemon.state import dump_state, load_state
from recorder.core.formats.base import (
    Fields,
    NextLoop,
    Translation,
    count_field,
    format_time,
    required_id,
    text_field,
)
from recorder.core.records import Json

USAGE = "token_usage"
_IN_TASK = ("assistant_response", "thinking_start", "tool_call", "tool_result", "task_end")
_WITH_CALL = ("tool_call", "tool_result")


class AidaemonReader:
    """Reads the rows of one store in the order of their ids."""

    def __init__(self, state: Json, _key: str, _next_loop: NextLoop) -> None:
        self._known = load_state(state)

    @property
    def state(self) -> Json:
        return dump_state(self._known)

    def read(self, line: Fields, at: datetime) -> Translation:
        """Read a row. Raises Refused."""
        session_id = required_id(line, "session_id")
        if line.get("table") == USAGE:
            return self._usage(session_id, line)
        kind = line.get("event_type")
        if not is_id(kind):
            raise InvalidLineError("bad_type", "event_type", "a row has an event_type, which is text")
        told_at = parse_timestamp(text_field(line, "created_at"))
        data = _data(line.get("data"))
        reading = Translation(kind, session_id=session_id, timestamp=told_at)
        read = TRANSLATORS.get(kind)
        reading.understood = read is not None and data is not None and _is_whole(kind, data)
        if self._known.current.get(session_id) is None:
            reading.events = [{"type": "SessionInfo", "session_id": session_id, "scope": "persistent"}]
        self._known.cursor["events"] = [line.get("id"), fingerprint(line)]
        if read is None or data is None or not reading.understood:
            return reading
        row = Row(self._known, session_id, data, format_time(told_at or at))
        task = row.task
        reading.events += [*self._front(kind, row), *read(row)]
        task = row.task or task
        reading.loop_id = task.loop_id if task else None
        return reading

    def end_of_stream(self, at: datetime) -> list[Fields]:
        """End the turns that have said all they will; their tasks are cut off."""
        ended = [event for task in self._known.tasks.values() for event in task.end_turn(format_time(at))]
        self._known.tasks, self._known.current, self._known.spawns = {}, {}, []
        return ended

    def _front(self, kind: str, row: Row) -> Iterator[Fields]:
        """Begin a task of which the rows before this one are gone."""
        task_id = row.words("task_id")
        if kind not in _IN_TASK or row.task is not None:
            return
        if not is_id(task_id) or self._known.last.get(row.session_id) == task_id:
            return
        yield from row.begin(task_id)
        words = "History starts here: earlier rows of this task are gone."
        yield row.event("Notice", kind="history", severity="info", text=words)

    def _usage(self, session_id: str, line: Fields) -> Translation:
        """Tell of a call that no response tells of."""
        key = call_key(session_id, line.get("model"), line)
        calls = self._known.calls
        reading = Translation(USAGE, session_id=session_id)
        self._known.cursor[USAGE] = [line.get("id"), fingerprint(line)]
        if calls.get(key):
            calls[key] -= 1
            if not calls[key]:
                del calls[key]
            return reading
        used = f"{count_field(line, 'input_tokens')} in, {count_field(line, 'output_tokens')} out"
        notice: Fields = {"type": "Notice", "session_id": session_id, "kind": "call_without_answer"}
        words = f"A call of {text_field(line, 'model')} without a response: {used}"
        reading.events = [{**notice, "severity": "info", "text": words, "data": line}]
        return reading


def fingerprint(line: Fields) -> str:
    """Return what tells a row from another of the same id: all of it but the one column that is updated."""
    said = {name: value for name, value in line.items() if name != "consolidated_at"}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:32]


def _data(given: Json) -> Fields | None:
    """Return what a row holds, as an object or as text; None if it is no JSON object."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return None
    return given if isinstance(given, dict) else None


def _is_whole(kind: str, data: Fields) -> bool:
    if kind in _WITH_CALL and not is_id(data.get("tool_call_id")):
        return False
    return kind != "task_start" or is_id(data.get("task_id"))
