"""Reader of pi's sessions: `sessions/--<folder>--/<time>_<id>.jsonl`; messages form a tree by `parentId`.

A prompt begins a loop. One whose parent is not the message before it is a branch of the loop that holds its
parent.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import cast

from recorder.core.events.fields import is_id
from recorder.core.formats.base import Fields, NextLoop, Translation, object_field, parse_time, text_field
from recorder.core.formats.transcripts.fields import (
    before,
    call_block,
    loop_id,
    objects,
    plain,
    text_of,
    thinking,
    time_text,
)
from recorder.core.formats.transcripts.open_loop import OpenLoop, counts
from recorder.core.records import Json

AGENT = "pi"
_USAGE = {"input": "input", "output": "output", "cache_read": "cacheRead", "cache_write": "cacheWrite"}
_HEADS = frozenset(
    (
        *("session", "model_change", "thinking_level_change", "compaction", "branch_summary"),
        *("custom", "custom_message", "label", "session_info"),
    )
)


def detects(line: Mapping[str, object]) -> bool:
    """Return whether a line is of a session of pi."""
    if line.get("type") == "session" and "cwd" in line and "id" in line:
        return True
    return line.get("type") == "message" and "parentId" in line and isinstance(line.get("message"), dict)


class PiReader:
    """Reads the lines of one session."""

    def __init__(self, state: Json, _key: str, _next_loop: NextLoop) -> None:
        stored = state if isinstance(state, dict) else {}
        self._session = text_field(stored, "session")
        self._about = object_field(stored, "about")
        self._last = text_field(stored, "last")  # id of the last message
        self._loops = cast("dict[str, str]", stored.get("loops") or {})  # by id of a message
        loop = stored.get("loop")
        self._loop = OpenLoop.load(loop) if isinstance(loop, dict) else None

    @property
    def state(self) -> Json:
        return {
            "session": self._session,
            "about": self._about,
            "last": self._last,
            "loops": cast("Json", self._loops),
            "loop": None if self._loop is None else self._loop.dump(),
        }

    def read(self, line: Fields, at: datetime) -> Translation:
        """Translate a line."""
        kind, now = text_field(line, "type"), time_text(line.get("timestamp"), at)
        reading = Translation(kind or "line", timestamp=parse_time(line.get("timestamp")))
        previous = self._loop
        if kind == "session":
            self._head(line)
        elif kind == "message":
            reading.events = self._message(line, object_field(line, "message"), now)
        elif kind == "compaction":
            reading.events = self._compaction(line, now)
        else:
            reading.understood = kind in _HEADS
        loop = self._loop or previous
        identity = text_field(line, "id")
        if kind != "session" and identity:
            self._last = identity
            if loop is not None:
                self._loops[identity] = loop.loop_id
        reading.session_id = self._session or None
        reading.loop_id = loop.loop_id if loop is not None else before(self._session)
        return reading

    def end_of_stream(self, at: datetime) -> list[Fields]:
        """End the loop if its last answer asked for nothing more; else it is aborted."""
        loop, self._loop = self._loop, None
        if loop is None:
            return []
        now = loop.at or time_text(None, at)
        return loop.end(now) if loop.is_finished else loop.finish_turn(now)

    def _head(self, line: Fields) -> None:
        session = line.get("id")
        self._session = self._session or (session if is_id(session) else "pi")
        cwd = text_field(line, "cwd")
        self._about = {"cwd": cwd} if cwd else {}

    def _message(self, line: Fields, message: Fields, now: str) -> list[Fields]:
        role = text_field(message, "role")
        if role == "user":
            return self._begin(line, now, text_of(message.get("content")))
        if role == "assistant":
            return self._answer(line, message, now)
        if role == "toolResult" and self._loop is not None:
            text = text_of(message.get("content"))
            return self._loop.end_tool(
                text_field(message, "toolCallId"), text, now, has_failed=message.get("isError") is True
            )
        return []

    def _begin(self, line: Fields, now: str, prompt: str) -> list[Fields]:
        previous, parent = self._loop, text_field(line, "parentId")
        events: list[Fields] = []
        if previous is not None:
            finished = previous.is_finished
            events = previous.end(previous.at or now, "" if finished else "cancelled")
        self._session = self._session or "pi"
        self._loop = OpenLoop(self._session, loop_id(self._session, line.get("id")))
        above = self._loops.get(parent)
        is_branch = bool(above) and parent != self._last
        kind: Json = {"Branch": {"tag": parent}} if is_branch else "Default" if above else "Initial"
        more: Fields = {"parent_loop_id": above, "continuation_kind": kind} if above else {}
        events += self._loop.start(AGENT, now, self._about, adopts=before(self._session), **more)
        return events + (self._loop.prompt(prompt, now) if prompt else [])

    def _answer(self, line: Fields, message: Fields, now: str) -> list[Fields]:
        events = self._begin(line, now, "") if self._loop is None else []
        loop = self._loop
        assert loop is not None
        stop, error = text_field(message, "stopReason"), text_field(message, "errorMessage")
        model, provider = text_field(message, "model"), text_field(message, "provider")
        events += loop.answer(
            text_field(line, "id") or now,
            now,
            _blocks(message.get("content")),
            model=model,
            provider=provider,
            stop=stop,
            error=error if stop == "error" else "",
        )
        usage = object_field(message, "usage")
        total = object_field(usage, "cost").get("total")
        is_cost = isinstance(total, int | float) and not isinstance(total, bool) and total >= 0
        loop.set_usage(counts(usage, _USAGE), float(total) if is_cost else -1.0)  # type: ignore[arg-type]
        events += loop.finish_message()
        if not error and loop.is_finished:  # pi tries again after an error
            self._loop = None
            events += loop.end(now)
        return events

    def _compaction(self, line: Fields, now: str) -> list[Fields]:
        events = self._begin(line, now, "") if self._loop is None else []
        loop = self._loop
        assert loop is not None
        tokens = counts(line, {"n": "tokensBefore"})["n"] or None
        return events + loop.compaction(now, tokens, text_field(line, "summary"))


def _blocks(content: Json) -> list[Fields]:
    found: list[Fields] = plain(content)
    for block in objects(content):
        kind = block.get("type")
        if kind == "text":
            found += plain(block.get("text"))
        elif kind == "thinking":
            found += thinking(block.get("thinking"))
        elif kind == "toolCall":
            found.append(call_block(block.get("id"), block.get("name"), block.get("arguments")))
    return found
