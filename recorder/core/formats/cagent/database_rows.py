"""cagent's session store, row by row: each row becomes the events that the runtime sent when it was written.

Rows come in the order in which things happened: a session's items, those of a sub-session where it ran, and
each session's own row after its items. A message of a person begins a stream, as it does live.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import cast

from recorder.core.formats import InvalidLineError
from recorder.core.formats.base import (
    Fields,
    NextLoop,
    Translation,
    count_field,
    object_field,
    required_id,
    text_field,
)
from recorder.core.formats.cagent import CagentReader
from recorder.core.formats.cagent.fields import check_fields
from recorder.core.records import Json

SESSIONS, ITEMS = "sessions", "session_items"
_SPENT = ("input_tokens", "cached_input_tokens", "cached_write_tokens")


@dataclass(slots=True)
class _Session:
    """What is known of a session whose rows are being read."""

    is_open: bool = False
    prompts: list[Fields] = field(default_factory=list)  # until the agent that answers is known
    calls: dict[str, list[str]] = field(default_factory=dict)  # not answered yet: name and arguments
    began: list[str] = field(default_factory=list)  # of them, those that run
    cost: float = 0.0
    at: Json = None


class CagentStoreReader:
    """Reads the rows of one store in order."""

    def __init__(self, state: Json, key: str, next_loop: NextLoop) -> None:
        kept = state if isinstance(state, dict) else {}
        self._inner = CagentReader(kept.get("stream"), key, next_loop)
        known = kept.get("sessions")
        self._sessions = {
            session_id: _Session(**one)  # type: ignore[arg-type]  # as `state` left it
            for session_id, one in (known.items() if isinstance(known, dict) else ())
            if isinstance(one, dict)
        }

    @property
    def state(self) -> Json:
        sessions = {session_id: asdict(one) for session_id, one in self._sessions.items()}
        return {"stream": self._inner.state, "sessions": cast("Json", sessions)}

    def read(self, line: Fields, at: datetime) -> Translation:
        """Read a row. Raises Refused."""
        table = text_field(line, "table")
        if table not in (SESSIONS, ITEMS):
            raise InvalidLineError("bad_type", "table", "a row is of the table sessions or session_items")
        session_id = required_id(line, "id" if table == SESSIONS else "session_id")
        check_fields("stream_started", {"session_id": session_id})
        known = self._sessions.setdefault(session_id, _Session())
        told = self._item(session_id, known, line) if table == ITEMS else self._ended(session_id, known, line)
        reading = Translation(table if table == SESSIONS else text_field(line, "item_type") or table)
        for each in told:
            said = self._inner.read(each, at)
            reading.events += said.events
            reading.session_id, reading.loop_id = said.session_id, said.loop_id
            reading.timestamp = said.timestamp or reading.timestamp
        if table == SESSIONS:
            reading.events.append(_info(session_id, line))
            reading.session_id, reading.loop_id = session_id, None
            self._sessions.pop(session_id)
        elif reading.session_id is None:  # what comes before a stream is adopted by it
            reading.session_id, reading.loop_id = session_id, self._inner.before
        return reading

    def end_of_stream(self, at: datetime) -> list[Fields]:
        """Say what is still to be said."""
        return self._inner.end_of_stream(at)

    def _item(self, session_id: str, known: _Session, row: Fields) -> Iterator[Fields]:
        kind, message = text_field(row, "item_type"), object_field(row, "message")
        known.at = message.get("created_at") or known.at
        if kind == "subsession":
            yield from _begin_task(known)
        elif kind == "summary":
            yield from _summary(session_id, known, row)
        elif text_field(message, "role") == "user":
            yield from self._prompt(session_id, known, row, message)
        elif text_field(message, "role") == "assistant":
            yield from _start(session_id, known, text_field(row, "agent_name"))
            yield from _answer(session_id, known, text_field(row, "agent_name"), message)
        elif text_field(message, "role") == "tool":
            yield from _result(session_id, known, text_field(row, "agent_name"), message)

    def _prompt(self, session_id: str, known: _Session, row: Fields, message: Fields) -> Iterator[Fields]:
        if row.get("implicit"):  # the runtime said it itself, and sends no user_message for it
            return
        yield from _stop(session_id, known)
        said: Fields = {
            "message": text_field(message, "content"),
            "multi_content": message.get("multi_content"),
        }
        known.prompts.append({**_about("user_message", known, ""), **said, "session_id": session_id})

    def _ended(self, session_id: str, known: _Session, row: Fields) -> Iterator[Fields]:
        if known.prompts:  # nobody answered
            yield from _start(session_id, known, "")
        if not known.calls:
            yield from _stop(session_id, known)
        if title := text_field(row, "title"):
            yield {"type": "session_title", "session_id": session_id, "title": title}


def _about(kind: str, known: _Session, agent: str) -> Fields:
    return {"type": kind, "agent_name": agent, "timestamp": known.at}


def _start(session_id: str, known: _Session, agent: str) -> Iterator[Fields]:
    if known.is_open:
        return
    yield from known.prompts
    at = known.prompts[0]["timestamp"] if known.prompts else known.at
    known.prompts, known.is_open = [], True
    yield {"type": "stream_started", "agent_name": agent, "timestamp": at, "session_id": session_id}


def _stop(session_id: str, known: _Session) -> Iterator[Fields]:
    if known.is_open:
        known.is_open, known.calls, known.began = False, {}, []
        yield {**_about("stream_stopped", known, ""), "session_id": session_id}


def _answer(session_id: str, known: _Session, agent: str, message: Fields) -> Iterator[Fields]:
    of_session: Fields = {"session_id": session_id}
    yield _about("toolset_info", known, agent)
    if thinking := text_field(message, "reasoning_content"):
        yield {**_about("agent_choice_reasoning", known, agent), **of_session, "content": thinking}
    if said := text_field(message, "content"):
        yield {**_about("agent_choice", known, agent), **of_session, "content": said}
    known.calls, known.began = {}, []
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict) and text_field(call, "id"):
            function = object_field(call, "function")
            known.calls[text_field(call, "id")] = [
                text_field(function, "name"),
                text_field(function, "arguments"),
            ]
            yield {**_about("partial_tool_call", known, agent), "tool_call": call}
    yield {**_about("message_added", known, agent), **of_session}
    usage = object_field(message, "usage")
    if usage or message.get("cost"):
        yield {**_about("token_usage", known, agent), **of_session, "usage": _usage(known, message, usage)}


def _usage(known: _Session, message: Fields, usage: Fields) -> Fields:
    cost = message.get("cost")
    known.cost += cost if isinstance(cost, int | float) else 0.0
    sent = sum(count_field(usage, name) for name in _SPENT)
    last: Fields = {**usage, "Cost": cost, "Model": text_field(message, "model")}
    return {
        "context_length": sent + count_field(usage, "output_tokens"),
        "cost": known.cost,
        "last_message": last,
    }


def _result(session_id: str, known: _Session, agent: str, message: Fields) -> Iterator[Fields]:
    call_id = text_field(message, "tool_call_id")
    yield from _begin(known, agent, call_id)
    name, given = known.calls.pop(call_id, ["", ""])
    result: Fields = {"isError": message.get("is_error") is True}
    call: Fields = {"id": call_id or "unknown", "function": {"name": name, "arguments": given}}
    answer: Fields = {"response": text_field(message, "content"), "result": result}
    yield {**_about("tool_call_response", known, agent), "tool_call": call, **answer}
    yield {**_about("message_added", known, agent), "session_id": session_id}


def _begin(known: _Session, agent: str, call_id: str) -> Iterator[Fields]:
    if call_id in known.calls and call_id not in known.began:
        known.began.append(call_id)
        name, given = known.calls[call_id]
        call: Fields = {"id": call_id, "function": {"name": name, "arguments": given}}
        yield {**_about("tool_call", known, agent), "tool_call": call}


def _begin_task(known: _Session) -> Iterator[Fields]:
    """A sub-session follows: the call that ran it begins before its rows."""
    tasks = [call for call, (name, _) in known.calls.items() if name == "transfer_task"]
    for call in [each for each in tasks if each not in known.began][:1]:
        yield from _begin(known, "", call)


def _summary(session_id: str, known: _Session, row: Fields) -> Iterator[Fields]:
    of_session: Fields = {"session_id": session_id}
    yield {**_about("session_compaction", known, ""), **of_session, "status": "started"}
    yield {**_about("session_summary", known, ""), **of_session, "summary": text_field(row, "summary_text")}
    yield {**_about("session_compaction", known, ""), **of_session, "status": "completed"}


def _info(session_id: str, row: Fields) -> Fields:
    tags: Json = {"starred": True} if row.get("starred") else None
    return {
        "type": "SessionInfo",
        "session_id": session_id,
        "working_dir": text_field(row, "working_dir") or None,
        "scope": "persistent",
        "tags": tags,
    }
