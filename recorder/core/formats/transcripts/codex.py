"""Reader of Codex's rollouts: `sessions/Y/M/D/rollout-<time>-<thread>.jsonl`; a task of Codex is a loop.

An answer is the items up to a `token_usage_record`, or up to the results of its calls where none is written.
A sub-agent has a file of its own, whose head names the session and the thread of its parent; its tasks name
those of its parent that started them. The result of the call that spawned it names the sub-agent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import cast

from recorder.core.events.fields import is_id
from recorder.core.formats.base import (
    Fields,
    NextLoop,
    Translation,
    object_field,
    parse_arguments,
    parse_time,
    text_field,
)
from recorder.core.formats.transcripts.fields import (
    before,
    call_block,
    is_context,
    loop_id,
    plain,
    text_of,
    thinking,
    time_text,
)
from recorder.core.formats.transcripts.open_loop import OpenLoop, counts
from recorder.core.records import Json

AGENT = "codex"
_USAGE = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cached_input_tokens",
    "cache_write": "cache_write_input_tokens",
    "reasoning": "reasoning_output_tokens",
}
_EXIT_CODE = re.compile(r"^(?:Process exited with code|Exit code:) (\d+)$", re.MULTILINE)
_OUTPUT = "\nOutput:\n"  # ends the lines that Codex writes about a command
_SPAWNED = frozenset(("item_completed", "collab_agent_spawn_end"))  # may name the sub-agent of a call
TYPES = frozenset(
    (
        *("session_meta", "response_item", "event_msg", "turn_context", "token_usage_record"),
        *("world_state", "compacted", "inter_agent_communication_metadata"),
    )
)


def detects(line: Mapping[str, object]) -> bool:
    """Return whether a line is of a rollout of Codex."""
    return line.get("type") in TYPES and isinstance(line.get("payload"), dict) and "timestamp" in line


class CodexReader:
    """Reads the lines of one rollout, which is one thread."""

    def __init__(self, state: Json, _key: str, _next_loop: NextLoop) -> None:
        stored = state if isinstance(state, dict) else {}
        self._session = text_field(stored, "session")
        self._thread = text_field(stored, "thread")
        self._parent = text_field(stored, "parent")  # thread that spawned this one; "": none
        self._agent = text_field(stored, "agent") or AGENT
        self._about = object_field(stored, "about")
        self._tasks = int(cast("int", stored.get("tasks") or 0))
        self._answers = int(cast("int", stored.get("answers") or 0))
        self._model, self._provider = text_field(stored, "model"), text_field(stored, "provider")
        self._has_records = bool(stored.get("records"))
        self._linked = cast("list[str]", stored.get("linked") or [])  # calls whose sub-agents are linked
        loop = stored.get("loop")
        self._loop = OpenLoop.load(loop) if isinstance(loop, dict) else None

    @property
    def state(self) -> Json:
        return {
            "session": self._session,
            "thread": self._thread,
            "parent": self._parent,
            "agent": self._agent,
            "about": self._about,
            "tasks": self._tasks,
            "answers": self._answers,
            "model": self._model,
            "provider": self._provider,
            "records": self._has_records,
            "linked": cast("Json", self._linked),
            "loop": None if self._loop is None else self._loop.dump(),
        }

    def read(self, line: Fields, at: datetime) -> Translation:
        """Translate a line."""
        kind, payload = text_field(line, "type"), object_field(line, "payload")
        now = time_text(line.get("timestamp"), at)
        name = text_field(payload, "type")
        reading = Translation(f"{kind} {name}".strip() or "line", timestamp=parse_time(line.get("timestamp")))
        previous = self._loop
        if kind == "session_meta":
            self._meta(payload)
        elif kind == "turn_context":
            self._model = text_field(payload, "model") or self._model
        elif kind == "token_usage_record":
            self._has_records = True
            reading.events = self._usage(object_field(payload, "usage"), now)
        elif kind == "response_item":
            reading.events = self._item(name, payload, now)
        elif kind == "event_msg" and name in _SPAWNED:
            reading.events = self._spawned(object_field(payload, "item") or payload)
        elif kind == "event_msg":
            reading.events = self._message(name, payload, now)
        elif kind == "compacted":
            reading.events = self._compacted(payload, now)
        elif kind not in TYPES:
            reading.understood = False
        loop = self._loop or previous
        reading.session_id, reading.covers = self._session or None, self._thread or None
        reading.loop_id = loop.loop_id if loop is not None else before(self._thread)
        return reading

    def end_of_stream(self, at: datetime) -> list[Fields]:
        """End the open turn; a task without an end is aborted."""
        loop, self._loop = self._loop, None
        return [] if loop is None else loop.finish_turn(loop.at or time_text(None, at))

    def _meta(self, payload: Fields) -> None:
        thread = text_field(payload, "id")
        spawn = object_field(object_field(object_field(payload, "source"), "subagent"), "thread_spawn")
        parent = text_field(spawn, "parent_thread_id") or text_field(payload, "parent_thread_id")
        session = text_field(payload, "session_id") or parent or thread
        if self._session or not is_id(session):
            return
        self._session, self._thread, self._parent = session, thread, parent
        self._provider = text_field(payload, "model_provider")
        self._agent = text_field(payload, "agent_nickname") or text_field(spawn, "agent_nickname") or AGENT
        names = (("cwd", "cwd"), ("version", "cli_version"), ("originator", "originator"))
        self._about = {to: payload[name] for to, name in names if payload.get(name)}

    def _message(self, name: str, payload: Fields, now: str) -> list[Fields]:
        if name == "task_started":
            return self._begin(payload, now)
        if name == "token_count" and not self._has_records:
            last = object_field(object_field(payload, "info"), "last_token_usage")
            return self._usage(last, now) if last else []
        if name == "user_message" and self._loop is not None and self._loop.turn < 0:
            text = text_field(payload, "message")
            return self._loop.prompt(text, now) if text and not is_context(text) else []
        if self._loop is None or name not in ("task_complete", "turn_aborted"):
            return []
        loop, self._loop = self._loop, None
        if name == "turn_aborted":
            return loop.end(now, "aborted", text_field(payload, "reason") or "aborted")
        error = text_field(object_field(payload, "error"), "message")
        events: list[Fields] = []
        if error:
            self._answers += 1
            events = loop.answer(f"error {self._answers}", now, [], error=error, **self._head())
        return [*events, *loop.end(now)]

    def _begin(self, payload: Fields, now: str) -> list[Fields]:
        events = self._loop.end(self._loop.at or now) if self._loop is not None else []
        if not self._session:
            self._session = self._thread = text_field(payload, "turn_id") or "codex"
        is_child = self._thread != self._session
        name = self._thread if is_child and not self._tasks else payload.get("turn_id")
        self._tasks += 1
        self._linked = []
        self._loop = OpenLoop(self._session, loop_id(self._session, name))
        caller = self._caller(object_field(payload, "turn_attribution"))
        more: Fields = {"parent_loop_id": caller, "is_sub_agent": True} if caller else {}
        return events + self._loop.start(self._agent, now, self._about, adopts=before(self._thread), **more)

    def _caller(self, attribution: Fields) -> str:
        """Return the loop that started a task of a sub-agent; "" if it is not known.

        That of another sub-agent is the first one of its thread, which has the name of the thread.
        """
        if self._parent and self._parent != self._session:
            return loop_id(self._session, self._parent)
        task = text_field(attribution, "parent_turn_id") if self._parent else ""
        return loop_id(self._session, task) if task else ""

    def _item(self, name: str, payload: Fields, now: str) -> list[Fields]:
        if self._loop is None:
            if name not in ("message", "function_call", "reasoning") or payload.get("role") in (
                "developer",
                "user",
            ):
                return []
            begun = self._begin({"turn_id": payload.get("id")}, now)
            return begun + self._item(name, payload, now)
        loop = self._loop
        if name in ("function_call_output", "custom_tool_call_output"):
            return self._output(payload, now)
        if name == "message" and payload.get("role") == "user":
            text = text_of(payload.get("content"))
            return loop.prompt(text, now) if text and not is_context(text) else []
        blocks = _blocks(name, payload)
        if not blocks:
            return []
        if not loop.key or loop.has_answered:
            self._answers += 1
        return loop.answer(f"answer {self._answers}", now, blocks, **self._head())

    def _output(self, payload: Fields, now: str) -> list[Fields]:
        loop = self._loop
        assert loop is not None
        call, (text, failed) = text_field(payload, "call_id"), _output(payload.get("output"))
        name = loop.tool_name(call)
        events = loop.end_tool(call, text, now, has_failed=failed)
        return events + (self._link(call, name, _agent_id(text)) if name.endswith("spawn_agent") else [])

    def _spawned(self, item: Fields) -> list[Fields]:
        """Link the sub-agent that an item names beside the result of its call, before it or in its place."""
        call = text_field(item, "call_id") or text_field(item, "id")
        name = self._loop.tool_name(call) if self._loop is not None else ""
        receivers = item.get("receiver_thread_ids")
        threads = receivers if isinstance(receivers, list) else [item.get("new_thread_id")]
        return self._link(call, name, threads[0] if threads else "") if name.endswith("spawn_agent") else []

    def _link(self, call: str, name: str, child: Json) -> list[Fields]:
        if self._loop is None or not is_id(child) or call in self._linked:
            return []
        self._linked.append(call)
        return [self._loop.link(call, name, loop_id(self._session, child))]

    def _usage(self, found: Fields, now: str) -> list[Fields]:
        """Set the usage of the open answer; its message is complete."""
        loop = self._loop
        if loop is None or not loop.key:
            return []
        loop.set_usage(counts(found, _USAGE, includes_cache=True))
        loop.at = now
        return loop.finish_message()

    def _compacted(self, payload: Fields, now: str) -> list[Fields]:
        loop = self._loop
        return [] if loop is None else loop.compaction(now, None, text_field(payload, "message"))

    def _head(self) -> dict[str, str]:
        return {"model": self._model, "provider": self._provider, "stop": "stop"}


def _agent_id(text: str) -> Json:
    """Return the id of the sub-agent that the result of a spawn names."""
    found = parse_arguments(text)
    return found.get("agent_id") if isinstance(found, dict) else None


def _blocks(name: str, payload: Fields) -> list[Fields]:
    if name == "message" and payload.get("role") == "assistant":
        return plain(text_of(payload.get("content")))
    if name == "reasoning":
        return thinking(text_of(payload.get("summary")) or text_of(payload.get("content")))
    if name in ("function_call", "custom_tool_call"):
        arguments = payload.get("arguments", payload.get("input"))
        return [call_block(payload.get("call_id"), payload.get("name"), parse_arguments(arguments))]
    if name == "local_shell_call":
        return [call_block(payload.get("call_id"), "local_shell", payload.get("action"))]
    return []


def _output(output: Json) -> tuple[str, bool]:
    """Return the text of a result and whether it failed: by its exit code, or as the tool says."""
    parsed = parse_arguments(output)  # older releases wrote JSON as text
    if not isinstance(parsed, dict) or not ("output" in parsed or "content" in parsed):
        text = text_of(output)
        match = _EXIT_CODE.search(text.partition(_OUTPUT)[0])
        return text, match is not None and match[1].strip("0") != ""
    text = text_of(parsed.get("output")) or text_of(parsed.get("content"))
    exit_code = object_field(parsed, "metadata").get("exit_code")
    return text, exit_code not in (None, 0) or parsed.get("success") is False
