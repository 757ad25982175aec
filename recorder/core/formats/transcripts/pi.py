"""Reader of pi's sessions: `sessions/--<folder>--/<time>_<id>.jsonl`; messages form a tree by `parentId`.

A prompt begins a loop. One that does not follow the message before it is a branch of the loop that holds the
message above it, or of none at the root. Entries between the two that are no messages, such as the summary of
the branch that was left, are at the place of the message above them.

The line `agent-meta`, which the client makes of the folder of a transcript, says that it is a sub-agent's:
its loops are in the session of the caller, below the call whose result names the run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import cast

from recorder.core.events.fields import is_id
from recorder.core.formats.base import Fields, NextLoop, Translation, object_field, parse_time, text_field
from recorder.core.formats.transcripts.fields import (
    before,
    call_block,
    dollars,
    forget_first,
    loop_id,
    objects,
    plain,
    prompt_text,
    text_of,
    thinking,
    time_text,
)
from recorder.core.formats.transcripts.line_loops import keep_unknown, loop_of_line
from recorder.core.formats.transcripts.open_loop import OpenLoop
from recorder.core.formats.transcripts.repeats import LineKey, history_of, key_hash
from recorder.core.formats.transcripts.token_counts import counts
from recorder.core.records import SPAWNED_BY, Json

AGENT = "pi"
MESSAGES_MAX = 5_000  # messages that are searched for a branch
_USAGE = {
    "input": "input",
    "output": "output",
    "reasoning": "reasoning",  # a part of the output
    "cache_read": "cacheRead",
    "cache_write": "cacheWrite",
}
_ROOT = "root"  # tag of a branch without a message above it
_SHARED = frozenset(("message", "compaction", "usage", "branch_summary"))
_HEADS = frozenset(
    (
        *("session", "model_change", "thinking_level_change", "compaction", "branch_summary"),
        *("custom", "custom_message", "label", "session_info", "usage", "context_edit", "system"),
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
        self._run = text_field(stored, "run")  # of sub-agents, to which this one belongs; "": no sub-agent
        self._name = text_field(stored, "name") or self._session  # of this transcript within its session
        self._last = text_field(stored, "last")  # id of the last message
        self._loops = cast("dict[str, str]", stored.get("loops") or {})  # by id of a message
        # By id of another entry: the message above it; "" at the root.
        self._above = cast("dict[str, str]", stored.get("above") or {})
        self._types = cast("dict[str, int]", stored.get("types") or {})  # unknown ones
        self._title = text_field(stored, "title")  # which a person gave the session
        loop = stored.get("loop")
        self._loop = OpenLoop.load(loop) if isinstance(loop, dict) else None

    @property
    def state(self) -> Json:
        return {
            "session": self._session,
            "about": self._about,
            "run": self._run,
            "name": self._name,
            "last": self._last,
            "loops": cast("Json", self._loops),
            "above": cast("Json", self._above),
            "types": cast("Json", self._types),
            "title": self._title,
            "loop": None if self._loop is None else self._loop.dump(),
        }

    def read(self, line: Fields, at: datetime) -> Translation:
        """Translate a line."""
        kind, now = text_field(line, "type"), time_text(line.get("timestamp"), at)
        reading = Translation(kind or "line", timestamp=parse_time(line.get("timestamp")))
        if kind == "session":
            self._head(line)
        elif kind == "agent-meta":
            self._meta(line)
        elif kind == "message":
            reading.events = self._message(line, object_field(line, "message"), now)
        elif kind == "compaction":
            reading.events = self._compaction(line, now)
        elif kind in ("usage", "branch_summary"):
            reading.events = self._other_call(line, now)
        elif kind == "session_info":
            self._title = text_field(line, "name") or self._title
            reading.events = self._titled() if self._loop is not None else []
        elif kind not in _HEADS:
            keep_unknown(reading, line, self._types)
        if kind not in ("session", "agent-meta"):
            self._note(kind, line)
        reading.session_id = self._session or None
        reading.loop_id = loop_of_line(self._loop, reading.events, self._name)
        return reading

    def key_of(self, line: Fields) -> LineKey | None:
        """Return the key of an entry: a fork has it with the same id and time."""
        message = object_field(line, "message")
        names = [text_field(line, name) for name in ("id", "timestamp")]
        if text_field(line, "type") not in _SHARED or not all(names):
            return None
        role = text_field(message, "role")
        named = key_hash(" ".join(("pi", *names, role, text_field(message, "responseId"))))
        if self._run:  # it may begin with the entries of its caller
            return LineKey(named, key_hash(self._name), "side")
        return LineKey(named, "", "answer" if role == "assistant" else "other")

    def continues(self, _line: Fields) -> bool:
        return False

    @property
    def open_loops(self) -> list[OpenLoop]:
        return [] if self._loop is None or self._loop.is_over else [self._loop]

    def session_of(self, _line: Fields) -> str:
        return self._session

    def repeat(self, line: Fields, _at: datetime) -> Translation:
        """Return the translation of an entry that is recorded elsewhere: history, without events."""
        return history_of(line, self._session, self._name, parse_time(line.get("timestamp")))

    def end_of_stream(self, at: datetime) -> list[Fields]:
        """End the loop if its last answer asked for nothing more; else it is aborted."""
        return [] if self._loop is None else self._loop.end_of_stream(time_text(None, at))

    def _meta(self, line: Fields) -> None:
        """Take the place of a sub-agent, which comes before its first line."""
        session, run, agent = (line.get(name) for name in ("sessionId", "runId", "agentId"))
        if not self._session and is_id(session) and is_id(run) and is_id(agent):
            self._session, self._run, self._name = session, run, f"{session}-{run}-{agent}"

    def _head(self, line: Fields) -> None:
        session = line.get("id")
        self._session = self._session or (session if is_id(session) else "pi")
        self._name = self._name or self._session
        cwd = text_field(line, "cwd")
        self._about = {"cwd": cwd} if cwd else {}

    def _note(self, kind: str, line: Fields) -> None:
        """Note the loop of a message, or the message above another entry."""
        name = text_field(line, "id")
        if name and kind != "message":
            self._above[name] = self._message_above(line)
            forget_first(self._above, MESSAGES_MAX)
        elif name:
            self._last = name
            if self._loop is not None:
                self._loops[name] = self._loop.loop_id
                forget_first(self._loops, MESSAGES_MAX)

    def _titled(self) -> list[Fields]:
        """Give the session its title; that of a sub-agent's transcript is none of its session."""
        title: Fields = {"type": "SessionInfo", "session_id": self._session, "title": self._title}
        return [title] if self._title and not self._run else []

    def _message_above(self, line: Fields) -> str:
        """Return the id of the message that an entry follows; "" at the root."""
        parent = text_field(line, "parentId")
        return self._above.get(parent, parent)

    def _message(self, line: Fields, message: Fields, now: str) -> list[Fields]:
        role, loop = text_field(message, "role"), self._loop
        if role == "user" and loop is not None and self._steers(loop, line):
            return loop.prompt(prompt_text(message.get("content")), now)
        if role == "user":
            return self._begin(line, now, prompt_text(message.get("content")))
        if role == "assistant":
            return self._answer(line, message, now)
        return self._result(loop, message, now) if role == "toolResult" and loop is not None else []

    def _steers(self, loop: OpenLoop, line: Fields) -> bool:
        """Return whether a prompt joins a loop that goes on: behind the results of all calls of an answer."""
        is_next = self._message_above(line) == self._last
        return is_next and not loop.has_ended and loop.stop == "toolUse" and not loop.calls

    def _result(self, loop: OpenLoop, message: Fields, now: str) -> list[Fields]:
        call, text = text_field(message, "toolCallId"), text_of(message.get("content"))
        name, run = loop.tool_name(call), _run_of(object_field(message, "details"))
        events = loop.end_tool(call, text, now, has_failed=message.get("isError") is True)
        return [*events, *([loop.link(call, name, loop_id(self._session, run))] if name and run else [])]

    def _begin(self, line: Fields, now: str, prompt: str) -> list[Fields]:
        previous, message = self._loop, self._message_above(line)
        events: list[Fields] = []
        if previous is not None:
            events = previous.end(previous.at or now, "" if previous.is_finished else "cancelled")
        self._session = self._session or "pi"
        self._name = self._name or self._session
        own = line.get("id")
        self._loop = OpenLoop(
            self._session, loop_id(self._session, f"{self._name}-{own}" if self._run else own)
        )
        above = self._loops.get(message)
        is_at_root = "parentId" in line and not message
        is_branch = bool(self._last) and message != self._last and (bool(above) or is_at_root)
        kind: Json = {"Branch": {"tag": message or _ROOT}} if is_branch else "Default" if above else "Initial"
        more: Fields = {"parent_loop_id": above, "continuation_kind": kind}
        about = self._about
        if self._run:
            caller = loop_id(self._session, self._run)
            about = about | {SPAWNED_BY: {"run": caller}}
            more = {"parent_loop_id": caller, "is_sub_agent": True}
        events += self._loop.start(AGENT, now, about, adopts=before(self._name), **more)
        events += self._titled() if previous is None else []
        return events + (self._loop.prompt(prompt, now) if prompt else [])

    def _answer(self, line: Fields, message: Fields, now: str) -> list[Fields]:
        events = self._begin(line, now, "") if self._loop is None else []
        loop = self._loop
        assert loop is not None
        stop, error = text_field(message, "stopReason"), text_field(message, "errorMessage")
        # A router says which model answered.
        model = text_field(message, "responseModel") or text_field(message, "model")
        provider = text_field(message, "provider")
        events += loop.answer(
            text_field(line, "id") or now,
            now,
            _blocks(message.get("content")),
            model=model,
            provider=provider,
            stop=stop,
            error=error if stop == "error" else "",
        )
        if object_field(message, "usage"):
            events += loop.set_usage(*_usage(message))
        # After an error pi tries again; a stopped answer ends the loop, also with calls that never run.
        if stop == "aborted" or (stop != "error" and loop.is_finished):
            events += loop.end(now)
        return events

    def _compaction(self, line: Fields, now: str) -> list[Fields]:
        events = self._begin(line, now, "") if self._loop is None else []
        loop = self._loop
        assert loop is not None
        tokens = counts(line, {"n": "tokensBefore"})["n"] or None
        is_over = loop.has_ended or loop.turn < 0
        events += loop.compaction(now, tokens, text_field(line, "summary"))
        events += self._call(loop, line, now)
        return events + (loop.end(now) if is_over else [])

    def _other_call(self, line: Fields, now: str) -> list[Fields]:
        """Count a call of the model that is no answer, such as one that keeps the cache warm."""
        if not object_field(line, "usage"):
            return []
        events = self._begin(line, now, "") if self._loop is None else []
        loop = self._loop
        assert loop is not None
        is_over = loop.has_ended
        events += self._call(loop, line, now)
        return events + (loop.end(now) if is_over else [])

    def _call(self, loop: OpenLoop, line: Fields, now: str) -> list[Fields]:
        found, cost = _usage(line)
        if not any(found.values()) and cost < 0:
            return []
        head = {name: text_field(line, name) or getattr(loop, name) for name in ("model", "provider")}
        stop = loop.stop
        events = loop.call(text_field(line, "id") or now, now, found, cost, **head)
        loop.stop = stop  # of the last answer, after which the loop goes on or not
        return events


def _run_of(details: Fields) -> str:
    """Return the run whose transcripts the result of a call names; "" without any."""
    run = details.get("runId")
    paths = [text_field(each, "sessionFile") for each in objects(details.get("results"))]
    return run if is_id(run) and any(run in re.split(r"[/\\]", path) for path in paths) else ""


def _usage(entry: Fields) -> tuple[dict[str, int], float]:
    """Return the token counts of an entry and its cost in dollars, -1 without one."""
    usage = object_field(entry, "usage")
    hour = counts(usage, {"cache_write_1h": "cacheWrite1h"})
    return counts(usage, _USAGE) | hour, dollars(object_field(usage, "cost").get("total"))


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
