"""Reader of aidaemon's database rows: its tables `events` and `token_usage`.

The format is defined by `src/events/payloads.rs` and `src/db/migrations.rs` of aidaemon's repository. The
importer sends rows as JSON objects in the order of their ids.

- A task is a loop, a thinking iteration a turn, a session a persistent session. Tool calls, errors and
  approvals keep their types; `policy_decision` and `decision_point` become notices.
- A row belongs to the task that it names, else to the task that started last in its session.
- aidaemon prunes rows after some days, so that the first rows of a task may be missing. The first row of such
  a task starts its loop and adds a notice.
- Sub-agents name no parent: they are linked to the tool call that runs when they start (`inferred`).
- A `token_usage` row repeats the usage of a response. It becomes a notice only if no response matches it.
- Dropped: `consolidated_at`, policy and risk fields of tool calls, attachments and annotations of messages.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import datetime

from recorder.core.events.fields import is_id, parse_timestamp
from recorder.core.formats import InvalidLineError
from recorder.core.formats.aidaemon.events import TRANSLATORS, StoredEvent, call_key
from recorder.core.formats.aidaemon.state import dump_state, load_state
from recorder.core.formats.base import (
    Fields,
    NextLoop,
    Translation,
    count_field,
    format_time,
    parse_arguments,
    required_id,
    text_field,
)
from recorder.core.records import Json

USAGE = "token_usage"
_IN_TASK = ("assistant_response", "thinking_start", "tool_call", "tool_result", "task_end")
_WITH_CALL = ("tool_call", "tool_result")


class AidaemonReader:
    """Translates the rows of one database in the order of their ids."""

    def __init__(self, state: Json, _key: str, _next_loop: NextLoop) -> None:
        self._state = load_state(state)

    @property
    def state(self) -> Json:
        return dump_state(self._state)

    def read(self, line: Fields, at: datetime) -> Translation:
        """Translate a row. Raises InvalidLineError."""
        session_id = required_id(line, "session_id")
        if line.get("table") == USAGE:
            return self._usage(session_id, line)
        kind = line.get("event_type")
        if not is_id(kind):
            raise InvalidLineError("bad_type", "event_type", "a row has an event_type, which is text")
        occurred_at = parse_timestamp(text_field(line, "created_at"))
        data = _data(line.get("data"))
        translation = Translation(kind, session_id=session_id, timestamp=occurred_at)
        translate = TRANSLATORS.get(kind)
        translation.understood = translate is not None and data is not None and _is_complete(kind, data)
        if self._state.current.get(session_id) is None:
            translation.events = [{"type": "SessionInfo", "session_id": session_id, "scope": "persistent"}]
        self._state.cursor["events"] = [line.get("id"), fingerprint(line)]
        if translate is None or data is None or not translation.understood:
            return translation
        row = StoredEvent(self._state, session_id, data, format_time(occurred_at or at))
        task = row.task
        translation.events += [*self._start_pruned_task(kind, row), *translate(row)]
        task = row.task or task
        translation.loop_id = task.loop_id if task else None
        return translation

    def end_of_stream(self, at: datetime) -> list[Fields]:
        """End open turns. Open tasks are forgotten: the recorder aborts their loops."""
        tasks = self._state.tasks.values()
        events = [event for task in tasks for event in task.end_turn(format_time(at))]
        self._state.tasks, self._state.current, self._state.running_calls = {}, {}, []
        return events

    def _start_pruned_task(self, kind: str, row: StoredEvent) -> Iterator[Fields]:
        """Start the task of a row whose earlier rows were pruned, with a notice."""
        task_id = row.text("task_id")
        if kind not in _IN_TASK or row.task is not None:
            return
        if not is_id(task_id) or self._state.last.get(row.session_id) == task_id:
            return
        yield from row.start_task(task_id)
        text = "History starts here: earlier rows of this task are gone."
        yield row.event("Notice", kind="history", severity="info", text=text)

    def _usage(self, session_id: str, line: Fields) -> Translation:
        """Return a notice for a model call without a response; other usage rows add nothing."""
        key = call_key(session_id, line.get("model"), line)
        calls = self._state.calls
        translation = Translation(USAGE, session_id=session_id)
        self._state.cursor[USAGE] = [line.get("id"), fingerprint(line)]
        if calls.get(key):
            calls[key] -= 1
            if not calls[key]:
                del calls[key]
            return translation
        used = f"{count_field(line, 'input_tokens')} in, {count_field(line, 'output_tokens')} out"
        notice: Fields = {"type": "Notice", "session_id": session_id, "kind": "call_without_answer"}
        text = f"A call of {text_field(line, 'model')} without a response: {used}"
        translation.events = [{**notice, "severity": "info", "text": text, "data": line}]
        return translation


def fingerprint(line: Fields) -> str:
    """Return a hash of a row without `consolidated_at`, the one column that aidaemon updates."""
    columns = {name: value for name, value in line.items() if name != "consolidated_at"}
    return hashlib.sha256(json.dumps(columns, sort_keys=True).encode()).hexdigest()[:32]


def _data(column: Json) -> Fields | None:
    """Return the column `data`, an object or its JSON text; None if it is neither."""
    found = parse_arguments(column)
    return found if isinstance(found, dict) else None


def _is_complete(kind: str, data: Fields) -> bool:
    if kind in _WITH_CALL and not is_id(data.get("tool_call_id")):
        return False
    return kind != "task_start" or is_id(data.get("task_id"))
