"""Reader of Gemini CLI's chats: `tmp/<project>/chats/session-<time>-<id>.jsonl`.

A message is written again under its id once its tools ran: the later line adds the calls with their results.
The results come once more as a message of the user, which is no prompt.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import cast

from recorder.core.events.fields import is_id
from recorder.core.formats.base import (
    Fields,
    NextLoop,
    Translation,
    format_time,
    object_field,
    parse_time,
    text_field,
)
from recorder.core.formats.transcripts.fields import (
    call_block,
    exit_code_failed,
    is_context,
    loop_id,
    objects,
    plain,
    text_of,
    thinking,
    time_text,
)
from recorder.core.formats.transcripts.open_loop import OpenLoop, counts
from recorder.core.records import Json

AGENT = "gemini-cli"
_USAGE = {"input": "input", "output": "output", "cache_read": "cached", "reasoning": "thoughts"}
_FAILED = frozenset(("error", "cancelled", "canceled"))


def detects(line: Mapping[str, object]) -> bool:
    """Return whether a line is of a chat of Gemini CLI."""
    if "projectHash" in line and "sessionId" in line:
        return True
    return line.get("type") == "gemini" and "tokens" in line


class GeminiCliReader:
    """Reads the lines of one chat."""

    def __init__(self, state: Json, _key: str, _next_loop: NextLoop) -> None:
        stored = state if isinstance(state, dict) else {}
        self._session = text_field(stored, "session")
        self._results = cast(
            "list[str]", stored.get("results") or []
        )  # calls of the open answer with a result
        loop = stored.get("loop")
        self._loop = OpenLoop.load(loop) if isinstance(loop, dict) else None

    @property
    def state(self) -> Json:
        loop = None if self._loop is None else self._loop.dump()
        return {"session": self._session, "results": cast("Json", self._results), "loop": loop}

    def read(self, line: Fields, at: datetime) -> Translation:
        """Translate a line."""
        kind, now = text_field(line, "type"), time_text(line.get("timestamp"), at)
        reading = Translation(kind or "line", timestamp=parse_time(line.get("timestamp")))
        before = self._loop
        if "sessionId" in line and not self._session:
            session = line["sessionId"]
            self._session = session if is_id(session) else ""
            reading.name = "session"
        elif "$set" in line:
            reading.name = "$set"
        elif kind == "user":
            reading.events = self._user(line, now)
        elif kind == "gemini":
            reading.events = self._answer(line, now)
        elif kind in ("error", "info", "warning"):
            reading.events = self._notice(kind, line, now)
        elif not self._session or kind:
            reading.understood = "sessionId" in line
        loop = self._loop or before
        reading.session_id = self._session or None
        reading.loop_id = loop.loop_id if loop is not None else None
        return reading

    def end_of_stream(self, at: datetime) -> list[Fields]:
        """End the loop if its last answer asked for nothing more; else it is aborted."""
        loop, self._loop = self._loop, None
        if loop is None:
            return []
        now = loop.at or time_text(None, at)
        return loop.end(now) if loop.is_finished else loop.finish_turn(now)

    def _begin(self, name: Json, now: str) -> list[Fields]:
        before = self._loop
        events = before.end(before.at or now) if before is not None else []
        self._session = self._session or "gemini-cli"
        self._loop = OpenLoop(self._session, loop_id(self._session, name))
        self._results = []
        return events + self._loop.start(AGENT, now)

    def _user(self, line: Fields, now: str) -> list[Fields]:
        content = line.get("content")
        if any("functionResponse" in part for part in objects(content)):
            return []
        text = text_of(content)
        if not text or is_context(text):
            return []
        events = self._begin(line.get("id"), now)
        assert self._loop is not None
        return events + self._loop.prompt(text, now)

    def _answer(self, line: Fields, now: str) -> list[Fields]:
        events = self._begin(line.get("id"), now) if self._loop is None else []
        loop = self._loop
        assert loop is not None
        key = text_field(line, "id") or now
        calls = objects(line.get("toolCalls"))
        blocks = [
            block
            for thought in objects(line.get("thoughts"))
            for block in thinking(thought.get("description") or thought.get("subject"))
        ]
        blocks += plain(text_of(line.get("content")))
        blocks += [call_block(c.get("id"), c.get("name"), c.get("args")) for c in calls]
        if loop.key != key:
            self._results = []
        if loop.key == key and loop.has_answered:
            blocks = []  # written again, and nothing is new but results
        stop = "tool_calls" if calls else "stop"
        events += loop.answer(key, now, blocks, model=text_field(line, "model"), provider="google", stop=stop)
        tokens = object_field(line, "tokens")
        if tokens:
            found = counts(tokens, _USAGE, includes_cache=True)
            loop.set_usage(found | {"output": found["output"] + found["reasoning"]})
        for call in calls:
            events += self._result(loop, call, now)
        return events

    def _result(self, loop: OpenLoop, call: Fields, now: str) -> list[Fields]:
        name = text_field(call, "id")
        status = text_field(call, "status")
        if name in self._results or ("result" not in call and status not in _FAILED):
            return []
        self._results.append(name)
        text = _result_text(call)
        failed = status in _FAILED or exit_code_failed(text)
        own = parse_time(call.get("timestamp"))
        return loop.end_tool(name, text, now if own is None else format_time(own), has_failed=failed)

    def _notice(self, kind: str, line: Fields, now: str) -> list[Fields]:
        loop, text = self._loop, text_of(line.get("content"))
        if loop is None or kind != "error":
            return []
        return [loop.event("ErrorRaised", scope="loop", message=text, timestamp=now)]


def _result_text(call: Fields) -> str:
    for part in objects(call.get("result")):
        response = object_field(object_field(part, "functionResponse"), "response")
        for name in ("output", "error", "content"):
            if isinstance(found := response.get(name), str):
                return found
    display = call.get("resultDisplay")
    return display if isinstance(display, str) else ""
