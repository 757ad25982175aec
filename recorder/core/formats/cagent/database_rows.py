"""Reader of cagent's session database (`~/.cagent/session.db`): rows of `sessions` and `session_items`.

The tables are defined by `pkg/session/store.go` and `pkg/session/migrations.go` of cagent's repository. Each
row becomes the stream events that cagent sends when it writes the row, and `CagentReader` translates those.

The importer sends rows in the order in which things happened: the items of a session, those of a sub-session
at the place where it ran, and the row of a session after its items. A user's message starts a stream, as it
does live. The database does not hold approvals, errors, streamed deltas and the context limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime

from recorder.core.formats import InvalidLineError
from recorder.core.formats.base import (
    Fields,
    NextLoop,
    Translation,
    count_field,
    inverted,
    object_field,
    rename_fields,
    required_id,
    text_field,
)
from recorder.core.formats.cagent import CagentReader
from recorder.core.formats.cagent.fields import check_fields
from recorder.core.records import Json

SESSIONS, ITEMS = "sessions", "session_items"
_INPUT_COUNTS = ("input_tokens", "cached_input_tokens", "cached_write_tokens")


@dataclass(slots=True)
class _Session:
    """State of a session whose rows are being read. Stored as JSON, under the names of `_STORED_NAMES`."""

    is_open: bool = False  # a stream is open
    prompts: list[Fields] = field(default_factory=list)  # until the name of the agent that answers is known
    calls: dict[str, list[str]] = field(default_factory=dict)  # by id, no result yet: name and arguments
    running: list[str] = field(default_factory=list)  # ids of `calls` that have started
    cost: float = 0.0  # of all messages and compactions so far, in USD
    at: Json = None  # time of the last row that has one


_STORED_NAMES = {"began": "running"}  # stored name -> attribute, where they differ


class CagentStoreReader:
    """Translates the rows of one database in order."""

    def __init__(self, state: Json, key: str, next_loop: NextLoop) -> None:
        stored = state if isinstance(state, dict) else {}
        self._stream_reader = CagentReader(stored.get("stream"), key, next_loop)
        self._sessions = {
            session_id: _Session(**rename_fields(fields, _STORED_NAMES))  # type: ignore[arg-type]  # of `state`
            for session_id, fields in object_field(stored, "sessions").items()
            if isinstance(fields, dict)
        }

    @property
    def state(self) -> Json:
        names = inverted(_STORED_NAMES)
        sessions: Fields = {
            session_id: rename_fields(asdict(session), names)
            for session_id, session in self._sessions.items()
        }
        return {"stream": self._stream_reader.state, "sessions": sessions}

    def read(self, line: Fields, at: datetime) -> Translation:
        """Translate a row. Raises InvalidLineError."""
        table = text_field(line, "table")
        if table not in (SESSIONS, ITEMS):
            raise InvalidLineError("bad_type", "table", "a row is of the table sessions or session_items")
        session_id = required_id(line, "id" if table == SESSIONS else "session_id")
        check_fields("stream_started", {"session_id": session_id})
        session = self._sessions.setdefault(session_id, _Session())
        convert = self._item if table == ITEMS else self._session_end
        translation = Translation(table if table == SESSIONS else text_field(line, "item_type") or table)
        for event in convert(session_id, session, line):
            translated = self._stream_reader.read(event, at)
            translation.events += translated.events
            translation.session_id, translation.loop_id = translated.session_id, translated.loop_id
            translation.timestamp = translated.timestamp or translation.timestamp
        if table == SESSIONS:
            translation.events.append(_info(session_id, line))
            translation.session_id, translation.loop_id = session_id, None
            self._sessions.pop(session_id)
        elif translation.session_id is None:  # outside a stream: the next stream adopts it
            translation.session_id, translation.loop_id = session_id, self._stream_reader.before
        return translation

    def end_of_stream(self, at: datetime) -> list[Fields]:
        """End open turns, as `CagentReader` does."""
        return self._stream_reader.end_of_stream(at)

    def _item(self, session_id: str, session: _Session, row: Fields) -> Iterator[Fields]:
        kind, message = text_field(row, "item_type"), object_field(row, "message")
        session.at = message.get("created_at") or session.at
        if kind == "subsession":
            yield from _start_sub_session_call(session)
        elif kind == "summary":
            yield from _summary(session_id, session, row)
        elif text_field(message, "role") == "user":
            yield from self._prompt(session_id, session, row, message)
        elif text_field(message, "role") == "assistant":
            yield from _start(session_id, session, text_field(row, "agent_name"))
            yield from _answer(session_id, session, text_field(row, "agent_name"), message)
        elif text_field(message, "role") == "tool":
            yield from _result(session_id, session, text_field(row, "agent_name"), message)

    def _prompt(self, session_id: str, session: _Session, row: Fields, message: Fields) -> Iterator[Fields]:
        if row.get("implicit"):  # written by cagent itself, which sends no user_message for it
            return
        yield from _stop(session_id, session)
        content: Fields = {
            "message": text_field(message, "content"),
            "multi_content": message.get("multi_content"),
        }
        session.prompts.append({**_event("user_message", session, ""), **content, "session_id": session_id})

    def _session_end(self, session_id: str, session: _Session, row: Fields) -> Iterator[Fields]:
        if session.prompts:  # without an answer
            yield from _start(session_id, session, "")
        if not session.calls:
            yield from _stop(session_id, session)
        if title := text_field(row, "title"):
            yield {"type": "session_title", "session_id": session_id, "title": title}


def _event(kind: str, session: _Session, agent: str) -> Fields:
    return {"type": kind, "agent_name": agent, "timestamp": session.at}


def _start(session_id: str, session: _Session, agent: str) -> Iterator[Fields]:
    if session.is_open:
        return
    yield from session.prompts
    at = session.prompts[0]["timestamp"] if session.prompts else session.at
    session.prompts, session.is_open = [], True
    yield {"type": "stream_started", "agent_name": agent, "timestamp": at, "session_id": session_id}


def _stop(session_id: str, session: _Session) -> Iterator[Fields]:
    if session.is_open:
        session.is_open, session.calls, session.running = False, {}, []
        yield {**_event("stream_stopped", session, ""), "session_id": session_id}


def _answer(session_id: str, session: _Session, agent: str, message: Fields) -> Iterator[Fields]:
    of_session: Fields = {"session_id": session_id}
    yield _event("toolset_info", session, agent)
    if thinking := text_field(message, "reasoning_content"):
        yield {**_event("agent_choice_reasoning", session, agent), **of_session, "content": thinking}
    if text := text_field(message, "content"):
        yield {**_event("agent_choice", session, agent), **of_session, "content": text}
    session.calls, session.running = {}, []
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict) and text_field(call, "id"):
            function = object_field(call, "function")
            session.calls[text_field(call, "id")] = [
                text_field(function, "name"),
                text_field(function, "arguments"),
            ]
            yield {**_event("partial_tool_call", session, agent), "tool_call": call}
    yield {**_event("message_added", session, agent), **of_session}
    usage = object_field(message, "usage")
    if usage or message.get("cost"):
        yield {
            **_event("token_usage", session, agent),
            **of_session,
            "usage": _usage(session, message, usage),
        }


def _usage(session: _Session, message: Fields, usage: Fields) -> Fields:
    cost = message.get("cost")
    session.cost += cost if isinstance(cost, int | float) else 0.0
    context = sum(count_field(usage, name) for name in _INPUT_COUNTS)
    last: Fields = {**usage, "Cost": cost, "Model": text_field(message, "model")}
    return {
        "context_length": context + count_field(usage, "output_tokens"),
        "cost": session.cost,
        "last_message": last,
    }


def _result(session_id: str, session: _Session, agent: str, message: Fields) -> Iterator[Fields]:
    call_id = text_field(message, "tool_call_id")
    yield from _start_call(session, agent, call_id)
    name, arguments = session.calls.pop(call_id, ["", ""])
    result: Fields = {"isError": message.get("is_error") is True}
    call: Fields = {"id": call_id or "unknown", "function": {"name": name, "arguments": arguments}}
    answer: Fields = {"response": text_field(message, "content"), "result": result}
    yield {**_event("tool_call_response", session, agent), "tool_call": call, **answer}
    yield {**_event("message_added", session, agent), "session_id": session_id}


def _start_call(session: _Session, agent: str, call_id: str) -> Iterator[Fields]:
    if call_id in session.calls and call_id not in session.running:
        session.running.append(call_id)
        name, arguments = session.calls[call_id]
        call: Fields = {"id": call_id, "function": {"name": name, "arguments": arguments}}
        yield {**_event("tool_call", session, agent), "tool_call": call}


def _start_sub_session_call(session: _Session) -> Iterator[Fields]:
    """Start the call of transfer_task that ran the sub-session whose rows follow."""
    tasks = [call for call, (name, _) in session.calls.items() if name == "transfer_task"]
    for call in [each for each in tasks if each not in session.running][:1]:
        yield from _start_call(session, "", call)


def _summary(session_id: str, session: _Session, row: Fields) -> Iterator[Fields]:
    of_session: Fields = {"session_id": session_id}
    yield {**_event("session_compaction", session, ""), **of_session, "status": "started"}
    yield {**_event("session_summary", session, ""), **of_session, "summary": text_field(row, "summary_text")}
    yield {**_event("session_compaction", session, ""), **of_session, "status": "completed"}
    cost = row.get("cost")
    if isinstance(cost, int | float) and not isinstance(cost, bool) and cost > 0:
        session.cost += cost
        yield {**_event("token_usage", session, ""), **of_session, "usage": {"cost": session.cost}}


def _info(session_id: str, row: Fields) -> Fields:
    tags: Json = {"starred": True} if row.get("starred") else None
    return {
        "type": "SessionInfo",
        "session_id": session_id,
        "working_dir": text_field(row, "working_dir") or None,
        "scope": "persistent",
        "tags": tags,
    }
