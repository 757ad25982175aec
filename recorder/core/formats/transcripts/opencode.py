"""Reader of OpenCode's sessions, as `loopscope_client.transcripts.opencode` reads them from its store.

The first line is the session, the next one may be its title; each further one is a finished message with its
parts, or with `open` one that is being written, which comes again, or a part of such a message. A message of
the user that OpenCode wrote itself, to compact or to go on, begins no loop.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import cast

from recorder.core.events.fields import is_id
from recorder.core.formats.base import Fields, NextLoop, Translation, object_field, text_field
from recorder.core.formats.transcripts.fields import (
    before,
    call_block,
    dollars,
    first_valid_id,
    loop_id,
    objects,
    plain,
    prompt_text,
    text_of,
    thinking,
    time_ms,
)
from recorder.core.formats.transcripts.line_loops import keep_unknown, loop_of_line
from recorder.core.formats.transcripts.open_loop import OpenLoop, Refusal
from recorder.core.formats.transcripts.repeats import Kind, LineKey, history_of, key_hash
from recorder.core.formats.transcripts.token_counts import counts
from recorder.core.records import Json

AGENT = "opencode"
_USAGE = {"input": "input", "output": "output", "reasoning": "reasoning"}
_QUESTIONS = frozenset(("question", "plan_exit"))  # tools that a person answers
_OUTCOMES = {"MessageAbortedError": "cancelled", "MessageOutputLengthError": "limit"}  # others: failed
_ABORTED = "Tool execution aborted"
_TEXTS = {"text": "text", "subtask": "prompt"}  # what a part of a prompt has its words in, by type
_DENIED = (
    *("The user rejected permission", "The user has specified a rule which prevents"),
    *("The user dismissed this question", "Error: The user dismissed this question"),
)


def detects(line: Mapping[str, object]) -> bool:
    """Return whether a line is of a session of OpenCode."""
    return line.get("type") == "opencode.session"


class OpenCodeReader:
    """Reads the lines of one session of the store; one with a parent is a sub-agent in the root's session."""

    def __init__(self, state: Json, _key: str, _next_loop: NextLoop) -> None:
        stored = state if isinstance(state, dict) else {}
        self._session, self._own = text_field(stored, "session"), text_field(stored, "own")
        self._parent = text_field(stored, "parent")
        self._agent = text_field(stored, "agent") or AGENT
        self._about = object_field(stored, "about")
        self._has_begun = bool(stored.get("begun"))
        self._types = cast("dict[str, int]", stored.get("types") or {})  # unknown ones
        self._title = text_field(stored, "title")
        loop = stored.get("loop")
        self._loop = OpenLoop.load(loop) if isinstance(loop, dict) else None

    @property
    def state(self) -> Json:
        return {
            "session": self._session,
            "own": self._own,
            "parent": self._parent,
            "agent": self._agent,
            "about": self._about,
            "begun": self._has_begun,
            "types": cast("Json", self._types),
            "title": self._title,
            "loop": None if self._loop is None else self._loop.dump(),
        }

    def read(self, line: Fields, at: datetime) -> Translation:
        """Translate a line."""
        kind = text_field(line, "type")
        reading = Translation(kind or "line")
        if kind == "opencode.session":
            self._head(line)
        elif kind == "opencode.title" and self._session:
            self._title = text_field(line, "title") or self._title
            reading.events = self._titled() if self._loop is not None else []
        elif kind == "opencode.message" and self._session:
            message, parts = object_field(line, "message"), objects(line.get("parts"))
            role = text_field(message, "role")
            read = self._user if role == "user" else self._answer
            reading.name = f"message {role}".strip()
            reading.events = read(line, message, parts, at)
        elif kind == "opencode.part" and self._session:
            reading.events = self._part(line, object_field(line, "message"), object_field(line, "part"), at)
        else:
            keep_unknown(reading, line, self._types)
        reading.session_id = self._session or None
        reading.loop_id = loop_of_line(self._loop, reading.events, self._own)
        return reading

    def key_of(self, line: Fields) -> LineKey | None:
        """Return the key of a message: a fork has it under another id, with the same times and tokens."""
        message = object_field(line, "message")
        role, created = text_field(message, "role"), object_field(message, "time").get("created")
        if text_field(line, "type") != "opencode.message" or not created:
            return None
        if role == "assistant":
            own: Json = [message.get("modelID"), message.get("tokens"), message.get("cost")]
        else:
            own = [part.get("text") for part in objects(line.get("parts"))]
        named = json.dumps([role, object_field(message, "time"), own], sort_keys=True)
        kind: Kind = "answer" if role == "assistant" else "other"
        at_ms = counts(object_field(message, "time"), {"n": "created"})["n"]
        return LineKey(key_hash(f"oc {named}"), "", kind, at_ms)

    def continues(self, line: Fields) -> bool:
        key = line.get("message_id") or line.get("id")
        return self._loop is not None and self._loop.key_at_end == key

    @property
    def open_loops(self) -> list[OpenLoop]:
        return [] if self._loop is None or self._loop.is_over else [self._loop]

    def session_of(self, _line: Fields) -> str:
        return self._session

    def repeat(self, line: Fields, _at: datetime) -> Translation:
        """Return the translation of an entry that is recorded elsewhere: history, without events."""
        return history_of(line, self._session, self._own)

    def end_of_stream(self, at: datetime) -> list[Fields]:
        """End the loop if its last answer asked for nothing more; else it is aborted."""
        return [] if self._loop is None else self._loop.end_of_stream(time_ms(None, at))

    def _head(self, line: Fields) -> None:
        own = line.get("id")
        if self._session or not is_id(own):
            return
        self._own, self._parent = own, text_field(line, "parent_id")
        self._session = first_valid_id(line.get("root_id"), own)
        self._agent = first_valid_id(line.get("agent") if self._parent else None, AGENT)
        names = (("cwd", "directory"), ("version", "version"))
        self._about = {to: line[name] for to, name in names if line.get(name)}

    def _titled(self) -> list[Fields]:
        title: Fields = {"type": "SessionInfo", "session_id": self._session, "title": self._title}
        return [title] if self._title else []

    def _begin(self, name: Json, now: str) -> list[Fields]:
        previous = self._loop
        events = previous.end(previous.at or now) if previous is not None else []
        is_first_of_child = bool(self._parent) and not self._has_begun
        self._has_begun = True
        self._loop = OpenLoop(self._session, loop_id(self._session, self._own if is_first_of_child else name))
        events += self._loop.start(self._agent, now, self._about, adopts=before(self._own))
        return events + (self._titled() if previous is None else [])

    def _user(self, line: Fields, message: Fields, parts: list[Fields], at: datetime) -> list[Fields]:
        now = time_ms(object_field(message, "time").get("created"), at)
        own = [part for part in parts if not part.get("synthetic") and part.get("type") != "compaction"]
        texts = [text_field(part, _TEXTS.get(text_field(part, "type"), "")) for part in own]
        if parts and not own and self._loop is not None:
            return []
        events = self._begin(line.get("id"), now)
        assert self._loop is not None
        text = _unquoted("\n".join(filter(None, texts))) or prompt_text(cast("Json", own))
        return events + (self._loop.prompt(text, now) if text else [])

    def _answer(self, line: Fields, message: Fields, parts: list[Fields], at: datetime) -> list[Fields]:
        times = object_field(message, "time")
        began = time_ms(times.get("created"), at)
        ended = time_ms(times["completed"], at) if "completed" in times else began
        events = self._begin(line.get("id"), began) if self._loop is None else []
        loop = self._loop
        assert loop is not None
        failure = object_field(message, "error")
        is_over = line.get("open") is not True
        outcome = _OUTCOMES.get(text_field(failure, "name"), "")
        error = text_field(object_field(failure, "data"), "message") or text_field(failure, "name")
        tools = [part for part in parts if part.get("type") == "tool"]
        stop = "tool_calls" if _asks(parts) else text_field(message, "finish") or "stop"
        events += loop.answer(
            str(line.get("id") or began),
            began,
            [block for part in parts if is_over or _is_whole(part) for block in _blocks(part)],
            model=text_field(message, "modelID"),
            provider=text_field(message, "providerID"),
            stop=stop,
            error="" if outcome else error,
        )
        events += _report(loop, message, parts)
        for part in tools:
            events += self._result(loop, part, ended, at)
        loop.at = ended
        if not is_over:  # it comes again when it is finished
            return events
        if message.get("summary") is True:
            texts = (text_field(part, "text") for part in parts if part.get("type") == "text")
            return events + loop.compaction(ended, None, "\n".join(filter(None, texts)))
        if failure or loop.is_finished:
            return events + loop.end(ended, outcome)
        return events + loop.finish_turn(ended)

    def _part(self, line: Fields, message: Fields, part: Fields, at: datetime) -> list[Fields]:
        """Add a part of an answer that is being written; the whole answer follows when it is finished."""
        now = time_ms(object_field(message, "time").get("created"), at)
        events = self._begin(line.get("message_id"), now) if self._loop is None else []
        loop, started = self._loop, object_field(object_field(part, "state"), "time").get("start")
        assert loop is not None
        events += loop.answer(
            text_field(line, "message_id") or now,
            now if started is None else time_ms(started, at),
            _blocks(part),
            model=text_field(message, "modelID"),
            provider=text_field(message, "providerID"),
        )
        if part.get("type") == "step-finish":
            events += _report(loop, part)
        if part.get("type") == "tool":
            if text_field(part, "tool") in _QUESTIONS:
                events += loop.wait_for(text_field(part, "callID"))
            events += self._result(loop, part, loop.at, at)
        return events

    def _result(self, loop: OpenLoop, part: Fields, ended: str, at: datetime) -> list[Fields]:
        state, call, name = object_field(part, "state"), text_field(part, "callID"), text_field(part, "tool")
        metadata, time = object_field(state, "metadata"), object_field(state, "time")
        status = text_field(state, "status")
        if status not in ("completed", "error"):
            return []
        text = text_of(state.get("output")) or text_field(state, "error")
        failed = status == "error" or metadata.get("exit") not in (None, 0)
        refusal: Refusal = "denied" if status == "error" and text.startswith(_DENIED) else ""
        is_cancelled = metadata.get("interrupted") is True or (status == "error" and text == _ABORTED)
        done = time_ms(time.get("end"), at) if "end" in time else ended
        failed = failed and not is_cancelled
        events = loop.end_tool(call, text, done, has_failed=failed, refusal=refusal)
        child = metadata.get("sessionId") or metadata.get("sessionID")
        if isinstance(child, str) and child:
            events.append(loop.link(call, name, loop_id(self._session, child)))
        return events


def _report(loop: OpenLoop, found: Fields, parts: Iterable[Fields] = ()) -> list[Fields]:
    """Report the tokens and the cost of an answer, or of a step of it; nothing where it has none.

    Of an answer of several steps the message has the cost of all, but the tokens of the last one.
    """
    steps = [part for part in parts if part.get("type") == "step-finish" and object_field(part, "tokens")]
    tokens = [object_field(each, "tokens") for each in (steps if len(steps) > 1 else [found])]
    if not any(tokens) and dollars(found.get("cost")) <= 0:
        return []
    each_usage = [_usage(each) for each in tokens]
    usage = {name: sum(each[name] for each in each_usage) for name in each_usage[0]}
    return loop.set_usage(usage, dollars(found.get("cost")))


def _usage(tokens: Fields) -> dict[str, int]:
    cache = counts(object_field(tokens, "cache"), {"cache_read": "read", "cache_write": "write"})
    own = counts(tokens, _USAGE)
    return own | cache | {"output": own["output"] + own["reasoning"]}


def _asks(parts: list[Fields]) -> bool:
    """Return whether the last step of an answer has calls: the agent goes on with their results."""
    kinds = [part.get("type") for part in parts]
    last = len(kinds) - kinds[::-1].index("step-start") if "step-start" in kinds else 0
    return "tool" in kinds[last:]


def _is_whole(part: Fields) -> bool:
    """Return whether a part of an answer that is being written will not change."""
    if part.get("type") == "tool":
        return object_field(part, "state").get("status") not in (None, "pending")
    return "end" in object_field(part, "time")


def _blocks(part: Fields) -> list[Fields]:
    kind = part.get("type")
    if kind == "text":
        return plain(part.get("text"))
    if kind == "reasoning":
        return thinking(part.get("text"))
    if kind == "tool":
        return [call_block(part.get("callID"), part.get("tool"), object_field(part, "state").get("input"))]
    return []


def _unquoted(text: str) -> str:
    """Return a prompt without the quotes that `opencode run` puts around it."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
