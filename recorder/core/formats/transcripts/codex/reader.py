"""Reader of Codex's rollouts: `sessions/Y/M/D/rollout-<time>-<thread>.jsonl`; a task of Codex is a loop.

An answer is the items up to a `token_usage_record`, or up to the results of its calls where none is written.
A sub-agent has a file of its own, whose head names the session and the thread of its parent; its tasks name
those of its parent that started them. The result of the call that spawned it names the sub-agent.
"""

from __future__ import annotations

from datetime import datetime
from typing import cast

from recorder.core.events.fields import is_id
from recorder.core.formats.base import (
    Fields,
    NextLoop,
    Translation,
    object_field,
    parse_time,
    text_field,
)
from recorder.core.formats.transcripts.codex.items import (
    HOSTED,
    ITEMS,
    QUESTION,
    USAGE,
    agent_id,
    blocks_of,
    compaction_summary,
    hosted_call,
    is_own_task,
    is_sum,
    place_in_git,
    result_of,
    total_of,
    usage_of,
)
from recorder.core.formats.transcripts.codex.record_types import TYPES
from recorder.core.formats.transcripts.fields import (
    before,
    forget_first,
    is_context,
    loop_id,
    text_of,
    time_text,
)
from recorder.core.formats.transcripts.line_loops import keep_unknown, loop_of_line
from recorder.core.formats.transcripts.open_loop import OpenLoop
from recorder.core.formats.transcripts.token_counts import counts
from recorder.core.records import Json

AGENT = "codex"
LINKED_MAX = 1_000  # calls of a task whose sub-agents are known
_BY_USER = frozenset(("interrupted", "user_interrupted"))  # reasons of an abort
_SPAWNED = frozenset(("item_completed", "collab_agent_spawn_end"))  # may name the sub-agent of a call


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
        self._is_bare = bool(stored.get("bare"))  # of an older release, whose lines are the items
        self._began = text_field(stored, "began")  # time of the head of such a rollout
        self._bare_tasks = int(cast("int", stored.get("bare_tasks") or 0))
        self._has_records = bool(stored.get("records"))
        self._is_counted = bool(stored.get("counted"))  # the open answer has its usage, so it is complete
        self._head_of_fork = object_field(stored, "fork")  # times of a fork, until its first own task
        self._total = cast("list[Json]", stored.get("total") or [])  # the last sum of all usage
        self._linked = dict.fromkeys(
            cast("list[str]", stored.get("linked") or [])
        )  # calls whose sub-agents are linked
        self._types = cast("dict[str, int]", stored.get("types") or {})  # unknown ones
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
            "bare": self._is_bare,
            "began": self._began,
            "bare_tasks": self._bare_tasks,
            "records": self._has_records,
            "counted": self._is_counted,
            "fork": self._head_of_fork,
            "total": self._total,
            "linked": cast("Json", list(self._linked)),
            "types": cast("Json", self._types),
            "loop": None if self._loop is None else self._loop.dump(),
        }

    def read(self, line: Fields, at: datetime) -> Translation:
        """Translate a line."""
        line = self._in_envelope(line)
        kind, payload = text_field(line, "type"), object_field(line, "payload")
        now = time_text(line.get("timestamp"), at)
        name = text_field(payload, "type")
        reading = Translation(f"{kind} {name}".strip() or "line", timestamp=parse_time(line.get("timestamp")))
        if kind == "session_meta":
            self._meta(payload, now)
        elif self._is_copy(kind, name, payload, reading.timestamp):
            reading.session_id, reading.loop_id, reading.covers = self._session, before(self._thread), ""
            return reading
        elif kind == "turn_context":
            self._model = text_field(payload, "model") or self._model
        elif kind == "token_usage_record":
            self._has_records = True
            reading.events = self._report(payload, now)
        elif kind == "response_item":
            reading.events = self._item(name, payload, now)
        elif kind == "event_msg" and name in _SPAWNED:
            reading.events = self._spawned(object_field(payload, "item") or payload)
        elif kind == "event_msg":
            reading.events = self._message(name, payload, now)
        elif kind == "compacted":
            reading.events = self._compacted(payload, now)
        elif kind not in TYPES:
            keep_unknown(reading, line, self._types)
        reading.session_id, reading.covers = self._session or None, self._thread or None
        reading.loop_id = loop_of_line(self._loop, reading.events, self._thread)
        return reading

    def end_of_stream(self, at: datetime) -> list[Fields]:
        """End the open turn; a task without an end is aborted, until a further line continues it."""
        if self._loop is None:
            return []
        now = time_text(None, at)
        return self._loop.end_of_stream(now) if self._is_bare else self._loop.cut_off(now)

    def _meta(self, payload: Fields, now: str) -> None:
        """Take the head of the rollout; another one behind it begins the copied history of its origin."""
        if self._session and text_field(payload, "id") not in ("", self._thread) and not self._tasks:
            self._head_of_fork = {**self._head_of_fork, "copied": now}
        thread = text_field(payload, "id")
        spawn = object_field(object_field(object_field(payload, "source"), "subagent"), "thread_spawn")
        parent = text_field(spawn, "parent_thread_id") or text_field(payload, "parent_thread_id")
        session = text_field(payload, "session_id") or parent or thread
        if self._session or not is_id(session):
            return
        self._head_of_fork = {"began": text_field(payload, "timestamp") or now}
        if text_field(payload, "forked_from_id") and not payload.get("history_base"):
            self._head_of_fork["copied"] = now
        self._session, self._thread, self._parent = session, thread, parent
        self._provider = text_field(payload, "model_provider")
        self._agent = text_field(payload, "agent_nickname") or text_field(spawn, "agent_nickname") or AGENT
        names = (("cwd", "cwd"), ("version", "cli_version"), ("originator", "originator"))
        self._about = {to: payload[name] for to, name in names if payload.get(name)}
        self._about |= place_in_git(object_field(payload, "git"))

    def _in_envelope(self, line: Fields) -> Fields:
        """Return a line of an older release as one of today; only the first of them has a time."""
        if "payload" in line or text_field(line, "type") not in ("", *ITEMS):
            return line
        if "record_type" in line:
            return {"timestamp": self._began, "type": "world_state"}
        self._is_bare = self._is_bare or "instructions" in line
        self._began = text_field(line, "timestamp") or self._began
        kind = "session_meta" if "type" not in line else "response_item"
        return {"timestamp": self._began, "type": kind, "payload": line}

    def _is_copy(self, kind: str, name: str, payload: Fields, at: datetime | None) -> bool:
        """Return whether a line of a fork is a copy of its origin's; the first task of its own ends them."""
        if "copied" not in self._head_of_fork:
            return False
        if name == "token_count" or kind == "token_usage_record":
            self._total = total_of(payload)
        if kind == "turn_context":
            self._model = text_field(payload, "model") or self._model
        turn_id = text_field(payload, "turn_id")
        if name != "task_started" or not is_own_task(turn_id, at, self._head_of_fork):
            return True
        self._head_of_fork = {}
        return False

    def _message(self, name: str, payload: Fields, now: str) -> list[Fields]:
        if name == "task_started":
            return self._begin(payload, now)
        if name == "token_count" and not self._has_records:
            return self._report(payload, now)
        loop = self._open
        if loop is None or name not in ("user_message", "task_complete", "turn_aborted"):
            return []
        if name == "user_message":
            text = text_field(payload, "message") if loop.turn < 0 else ""
            return loop.prompt(text, now) if text and not is_context(text) else []
        if name == "turn_aborted":
            reason = text_field(payload, "reason")
            outcome = "cancelled" if reason in _BY_USER and not self._parent else "aborted"
            return loop.end(now, outcome, "" if outcome == "cancelled" else reason or "aborted")
        error = text_field(object_field(payload, "error"), "message")
        events: list[Fields] = []
        if error:
            self._answers += 1
            events = loop.answer(f"error {self._answers}", now, [], error=error, **self._head())
        return [*events, *loop.end(now)]

    @property
    def _open(self) -> OpenLoop | None:
        """The task that goes on; what follows an end belongs to the next one."""
        loop = self._loop
        is_behind = loop is not None and loop.is_over and not (loop.is_aborted or self._is_bare)
        return None if is_behind else loop

    def _begin(self, payload: Fields, now: str) -> list[Fields]:
        events = self._loop.end(self._loop.at or now) if self._loop is not None else []
        if not self._session:
            self._session = self._thread = text_field(payload, "turn_id") or "codex"
        is_child = self._thread != self._session
        name = self._thread if is_child and not self._tasks else payload.get("turn_id")
        self._tasks += 1
        self._linked = {}
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
        is_user = name == "message" and payload.get("role") == "user"
        text = text_of(payload.get("content")) if is_user else ""
        if payload.get("role") == "developer" or (is_user and (not text or is_context(text))):
            return []
        events = self._begin_unmarked(name, payload, now, is_prompt=is_user)
        loop = self._open
        if loop is None:
            return events
        if name in ("function_call_output", "custom_tool_call_output"):
            return events + self._output(payload, now)
        return events + (loop.prompt(text, now) if is_user else self._answer(loop, name, payload, now))

    def _begin_unmarked(self, name: str, payload: Fields, now: str, *, is_prompt: bool) -> list[Fields]:
        """Begin a task that no line marks: with an answer, or in an older release with a prompt."""
        loop = self._open
        if is_prompt:
            is_next = loop is None or (loop.turn >= 0 and bool(loop.key_at_end) and not loop.calls)
            begins = self._is_bare and is_next
        else:
            begins = loop is None and name in ("message", "function_call", "reasoning", "local_shell_call")
        if not begins:
            return []
        self._bare_tasks += 1
        return self._begin({"turn_id": payload.get("id") or f"task-{self._bare_tasks}"}, now)

    def _answer(self, loop: OpenLoop, name: str, payload: Fields, now: str) -> list[Fields]:
        blocks = blocks_of(name, payload)
        if not blocks:
            return []
        if not loop.key_at_end or self._is_counted:
            self._answers += 1
            self._is_counted = False
        events = loop.answer(f"answer {self._answers}", now, blocks, **self._head())
        if name in HOSTED:
            has_failed = payload.get("status") == "failed"
            events += loop.end_tool(hosted_call(payload), "", now, has_failed=has_failed)
        if name == "function_call" and payload.get("name") == QUESTION:
            events += loop.wait_for(text_field(payload, "call_id"))
        return events

    def _output(self, payload: Fields, now: str) -> list[Fields]:
        loop = self._open
        assert loop is not None
        call, (text, failed) = text_field(payload, "call_id"), result_of(payload.get("output"))
        name = loop.tool_name(call)
        self._is_counted = True
        events = loop.end_tool(call, text, now, has_failed=failed)
        return events + (self._link(call, name, agent_id(text)) if name.endswith("spawn_agent") else [])

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
        self._linked[call] = None
        forget_first(self._linked, LINKED_MAX)
        return [self._loop.link(call, name, loop_id(self._session, child))]

    def _report(self, payload: Fields, now: str) -> list[Fields]:
        """Set the usage of the open answer; its message is complete.

        If that has its usage already, or there is none, and the sum of all usage grew by that of the report,
        the call has no answer in the rollout, as that of a compaction. The same report may come again behind
        the next answer.
        """
        loop, last, before_it, total = self._open, usage_of(payload), self._total, total_of(payload)
        if not last or (any(total) and total == before_it):
            return []
        self._total, is_next = total, is_sum(total, before_it, last)
        if loop is None or not (loop.key_at_end or is_next):
            return []
        self._is_counted = True
        events = loop.resume()
        if is_next and (loop.usage or not loop.key):
            self._answers += 1
            events += loop.answer(f"answer {self._answers}", now, [], **self._head())
        loop.at = now
        return events + loop.set_usage(counts(last, USAGE, includes_cache=True))

    def _compacted(self, payload: Fields, now: str) -> list[Fields]:
        loop = self._open
        return [] if loop is None else loop.compaction(now, None, compaction_summary(payload))

    def _head(self) -> dict[str, str]:
        return {"model": self._model, "provider": self._provider, "stop": "stop"}
