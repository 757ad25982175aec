"""Reader of Codex's rollouts: `sessions/Y/M/D/rollout-<time>-<thread>.jsonl`; a task of Codex is a loop.

A line marks the start and the end of a task. In rollouts of older releases, without these marks, a prompt
behind an answer begins a task, and the task before it has ended.
An answer is the items up to a `token_usage_record`, or up to the results of its calls where none is written.
A sub-agent has a file of its own, whose head names the session and the thread of its parent; its tasks name
those of its parent that started them. The result of the call that spawned it names the sub-agent.
"""

from __future__ import annotations

from datetime import datetime
from typing import cast

from recorder.core.formats.base import Fields, NextLoop, Translation, object_field, text_field
from recorder.core.formats.transcripts.codex.copied_history import CopiedHistory
from recorder.core.formats.transcripts.codex.heads import AGENT, Thread, head_of
from recorder.core.formats.transcripts.codex.items import (
    QUESTION,
    agent_id,
    blocks_of,
    compaction_summary,
    is_hosted,
    prompt_of,
    result_of,
)
from recorder.core.formats.transcripts.codex.older_lines import OlderLines
from recorder.core.formats.transcripts.codex.prompt_pairs import PromptPairs
from recorder.core.formats.transcripts.codex.record_types import ENDS, STARTS, TYPES, translation_of
from recorder.core.formats.transcripts.codex.standing_tasks import StandingTasks
from recorder.core.formats.transcripts.codex.task_calls import EVENTS, TaskCalls, caller_of
from recorder.core.formats.transcripts.codex.task_keys import TaskKeys
from recorder.core.formats.transcripts.codex.usage_reports import USAGE, UsageReports
from recorder.core.formats.transcripts.fields import before, is_context, loop_id, time_text
from recorder.core.formats.transcripts.line_loops import keep_unknown, loop_of_line
from recorder.core.formats.transcripts.open_loop import OpenLoop
from recorder.core.formats.transcripts.repeats import LineKey
from recorder.core.formats.transcripts.token_counts import counts
from recorder.core.records import Json

_PROMPT = "prompt"
_OF_AGENT = "agent_message"  # what another agent wrote to this one
_BY_USER = frozenset(("interrupted", "user_interrupted"))  # reasons of an abort


class CodexReader:
    """Reads the lines of one rollout, which is one thread."""

    def __init__(self, state: Json, _key: str, _next_loop: NextLoop) -> None:
        stored = state if isinstance(state, dict) else {}
        self._thread = Thread.load(stored)
        self._tasks = int(cast("int", stored.get("tasks") or 0))
        self._answers = int(cast("int", stored.get("answers") or 0))
        self._model = text_field(stored, "model")
        self._older = OlderLines(stored)
        self._bare_tasks = int(cast("int", stored.get("bare_tasks") or 0))
        self._has_records = bool(stored.get("records"))
        self._is_counted = bool(stored.get("counted"))  # the open answer has its usage, so it is complete
        self._history = CopiedHistory(object_field(stored, "fork"))
        self._keys = TaskKeys.load(stored)
        self._reports = UsageReports(stored)
        self._has_base = bool(stored.get("base"))  # its sums go on from those of another rollout
        # Whether lines mark the tasks.
        self._is_marked = bool(
            stored.get("marked", self._tasks > self._bare_tasks and not self._older.is_found)
        )
        self._end = cast("list[str]", stored.get("end") or [])  # of the last task: time, outcome and error
        self._prompts = PromptPairs(text_field(stored, "prompt"))
        self._standing = StandingTasks(stored)
        self._calls = TaskCalls(stored)
        self._types = cast("dict[str, int]", stored.get("types") or {})  # unknown ones
        loop = stored.get("loop")
        self._loop = OpenLoop.load(loop) if isinstance(loop, dict) else None

    @property
    def state(self) -> Json:
        return {
            **self._thread.dump(),
            "tasks": self._tasks,
            "answers": self._answers,
            "model": self._model,
            **self._older.dump(),
            "bare_tasks": self._bare_tasks,
            "records": self._has_records,
            "counted": self._is_counted,
            "fork": self._history.dump(),
            "keys": self._keys.dump(),
            **self._reports.dump(),
            "base": self._has_base,
            "marked": self._is_marked,
            "end": cast("Json", self._end),
            "prompt": self._prompts.last,
            **self._standing.dump(),
            **self._calls.dump(),
            "types": cast("Json", self._types),
            "loop": None if self._loop is None else self._loop.dump(),
        }

    def read(self, line: Fields, at: datetime) -> Translation:
        """Translate a line."""
        line = self._older.in_envelope(line)
        kind, payload = text_field(line, "type"), object_field(line, "payload")
        now = time_text(line.get("timestamp"), at)
        if kind == "session_meta":
            self._meta(payload, now)
            lines = []
        else:
            has_key, is_start = self.key_of(line) is not None, self._keys.starts.has(line)
            lines = self._history.lines_to_read(line, now, is_start=is_start, has_key=has_key)
            self._keys.note(line, is_elsewhere=False)
            if not lines or self._keys.is_elsewhere:
                return self._copy(line)
            self._has_base = self._has_base and not self._history.is_read  # then its sums begin here
        reading = translation_of(line)
        reading.events = [event for each in lines for event in self._events(each, at)]
        if kind not in TYPES:
            keep_unknown(reading, line, self._types)
        reading.session_id, reading.covers = self._thread.session or None, self._thread.name or None
        reading.loop_id = loop_of_line(self._loop, reading.events, self._thread.name)
        return reading

    def key_of(self, line: Fields) -> LineKey | None:
        """Return the key of a line that starts a task; what follows is where that is."""
        return self._keys.key_of(line, self._history, text_field(line, "timestamp"))

    def continues(self, line: Fields) -> bool:
        return self._keys.continues(line)

    @property
    def open_loops(self) -> list[OpenLoop]:
        return [] if self._loop is None or self._loop.is_over else [self._loop]

    def session_of(self, _line: Fields) -> str:
        return self._thread.session

    def repeat(self, line: Fields, at: datetime) -> Translation:
        """Return the translation of the start of a task that is recorded elsewhere: history."""
        now = time_text(line.get("timestamp"), at)
        self._history.lines_to_read(line, now, is_start=True, has_key=True)
        self._keys.note(line, is_elsewhere=True)
        return self._copy(line)

    def _copy(self, line: Fields) -> Translation:
        """Return the translation of a copied line. The own tasks of a fork go on from what it says."""
        kind, payload = text_field(line, "type"), object_field(line, "payload")
        if kind == "token_usage_record" or text_field(payload, "type") == "token_count":
            self._reports.note(payload)
        if kind == "turn_context":
            self._model = text_field(payload, "model") or self._model
        reading = translation_of(line)
        reading.session_id, reading.loop_id = self._thread.session, before(self._thread.name)
        reading.covers = ""
        return reading

    def _events(self, line: Fields, at: datetime) -> list[Fields]:
        kind, payload = text_field(line, "type"), object_field(line, "payload")
        now, name = time_text(line.get("timestamp"), at), text_field(payload, "type")
        if kind == "turn_context":
            self._model = text_field(payload, "model") or self._model
        elif kind == "token_usage_record":
            self._has_records = True
            return self._report(payload, now)
        elif kind in ("response_item", "inter_agent_communication"):
            return self._item(name or _OF_AGENT, payload, now)
        elif kind == "event_msg" and name in EVENTS:
            return self._calls.read(self._loop, name, payload)
        elif kind == "event_msg":
            return self._message(name, payload, now)
        elif kind == "compacted":
            return self._compacted(payload, now)
        return []

    def end_of_stream(self, at: datetime) -> list[Fields]:
        """End the open turn; a task without an end is aborted, until a further line continues it."""
        if self._loop is None:
            return []
        now = time_text(None, at)
        return self._loop.cut_off(now) if self._is_marked else self._loop.end_of_stream(now)

    def _meta(self, payload: Fields, now: str) -> None:
        """Take the head of the rollout; another one behind it begins the copied history of its origin."""
        head = head_of(payload)
        if self._thread.session and head.thread not in ("", self._thread.name) and not self._tasks:
            self._history.note_origin(now)
            self._keys.note_copied_head(head)
        if self._thread.session or not head.session:
            return
        self._has_base = bool(head.origin) or head.has_base
        self._history.note_head(text_field(payload, "timestamp") or now, is_fork=head.is_copy)
        self._keys.note_head(head)
        self._thread = Thread.of_head(head, payload)

    def _message(self, name: str, payload: Fields, now: str) -> list[Fields]:
        if name in STARTS:
            self._is_marked, self._prompts = True, PromptPairs()
            return self._begin(payload, now)
        if name == "token_count" and not self._has_records:
            return self._report(payload, now)
        if name == "thread_rolled_back":
            return self._roll_back(payload, now)
        if name == "user_message":
            return self._user(payload, now, is_event=True)
        if name == "thread_name_updated":
            return self._thread.named(payload) if self._loop is not None else []
        loop = self._open
        return self._ended(loop, name, payload, now) if loop is not None and name in (*ENDS, "error") else []

    def _ended(self, loop: OpenLoop, name: str, payload: Fields, now: str) -> list[Fields]:
        if name == "error":
            return self._failed(loop, payload, now)
        if name == "turn_aborted":
            reason = text_field(payload, "reason")
            outcome = "cancelled" if reason in _BY_USER and not self._thread.parent else "aborted"
            return self._finish(loop, now, outcome, "" if outcome == "cancelled" else reason or "aborted")
        failed = self._failed(loop, object_field(payload, "error"), now)
        return [*failed, *self._finish(loop, now)]

    def _failed(self, loop: OpenLoop, failure: Fields, now: str) -> list[Fields]:
        """Fail the open call; its end may say again why."""
        error = text_field(failure, "message")
        if not error or error == loop.error:
            return []
        self._answers += 1
        return loop.answer(f"error {self._answers}", now, [], error=error, **self._head())

    def _finish(self, loop: OpenLoop, now: str, outcome: str = "", error: str = "") -> list[Fields]:
        """End a task at the mark of its end."""
        self._end = [now, outcome, error]
        return loop.end(now, outcome, error)

    def _roll_back(self, payload: Fields, now: str) -> list[Fields]:
        """Undo the last tasks: the next one is a branch of the task before them."""
        count, loop = counts(payload, {"n": "num_turns"})["n"], self._loop
        if loop is None or not count:
            return []
        self._standing.undo(count)
        return [] if self._is_marked or self._end else self._finish(loop, loop.at or now)

    def _user(self, payload: Fields, now: str, *, is_event: bool) -> list[Fields]:
        """Add a prompt, which may come as an item, as an event, or as both in any order."""
        text, loop = prompt_of(payload), self._open
        if not text or is_context(text):
            return []
        has_item = is_event and self._is_marked and loop is not None and loop.turn >= 0
        if self._prompts.is_second(text, is_event=is_event, has_item=has_item):
            return []
        events = self._begin_unmarked(_PROMPT, payload, now)
        return events + (self._open.prompt(text, now) if self._open is not None else [])

    @property
    def _open(self) -> OpenLoop | None:
        """The task that goes on; what follows an end belongs to the next one."""
        loop, is_ended = self._loop, self._is_marked or bool(self._end)
        is_behind = loop is not None and loop.has_ended and is_ended
        return None if is_behind else loop

    def _begin(self, payload: Fields, now: str) -> list[Fields]:
        events = self._loop.end(self._loop.at or now) if self._loop is not None else []
        thread = self._thread
        if not thread.session:
            thread.session = thread.name = text_field(payload, "turn_id") or AGENT
        is_child = thread.name != thread.session
        name = thread.name if is_child and not self._tasks else payload.get("turn_id")
        self._tasks += 1
        self._calls, self._end = TaskCalls(), []
        self._loop = OpenLoop(thread.session, loop_id(thread.session, name))
        more = self._standing.begin(self._loop.loop_id)
        if caller := caller_of(thread, object_field(payload, "turn_attribution")):
            more |= {"parent_loop_id": caller, "is_sub_agent": True}
        return events + self._loop.start(thread.agent, now, thread.about, adopts=before(thread.name), **more)

    def _item(self, name: str, payload: Fields, now: str) -> list[Fields]:
        if name == _OF_AGENT or (name == "message" and payload.get("role") == "user"):
            return self._user(payload, now, is_event=False)
        if payload.get("role") == "developer":
            return []
        events = self._begin_unmarked(name, payload, now)
        loop = self._open
        if loop is None:
            return events
        if name.endswith("_output"):
            return events + self._output(loop, payload, now)
        return events + self._answer(loop, name, payload, now)

    def _begin_unmarked(self, name: str, payload: Fields, now: str) -> list[Fields]:
        """Begin a task that no line marks: with an answer, or where no line marks any with a prompt."""
        loop = self._open
        if name == _PROMPT:
            is_next = loop is None or (loop.turn >= 0 and bool(loop.key_at_end) and not loop.calls)
            begins = is_next and not self._is_marked
        else:
            begins = loop is None and name in ("message", "function_call", "reasoning", "local_shell_call")
        if not begins:
            return []
        self._bare_tasks += 1
        return self._begin({"turn_id": payload.get("id") or f"task-{self._bare_tasks}"}, now)

    def _answer(self, loop: OpenLoop, name: str, payload: Fields, now: str) -> list[Fields]:
        blocks = blocks_of(name, payload, now)
        if not blocks:
            return []
        if not loop.key_at_end or self._is_counted:
            self._answers += 1
            self._is_counted = False
        self._prompts = PromptPairs()
        events = loop.answer(f"answer {self._answers}", now, blocks, **self._head())
        if is_hosted(name, payload):
            call, status = str(blocks[0]["id"]), payload.get("status")
            events += loop.end_tool(call, "", now, has_failed=status == "failed")
        if name == "function_call" and payload.get("name") == QUESTION:
            events += loop.wait_for(text_field(payload, "call_id"))
        return events

    def _output(self, loop: OpenLoop, payload: Fields, now: str) -> list[Fields]:
        call, (text, failed) = text_field(payload, "call_id"), result_of(payload.get("output"))
        name, failed = loop.tool_name(call), self._calls.takes_failure(call) or failed
        events, self._is_counted = loop.end_tool(call, text, now, has_failed=failed), True
        return events + self._calls.link(loop, call, name, agent_id(text))

    def _report(self, payload: Fields, now: str) -> list[Fields]:
        """Set the usage of the open answer; its message is complete.

        If that has its usage already, or there is none, and the sum of all usage grew by that of the report,
        the call has no answer in the rollout, as that of a compaction. The same report may come again behind
        the next answer.
        """
        loop, is_over = self._open, False
        if loop is None and self._end and self._loop is not None:
            loop, is_over = self._loop, True
        has_answer = loop is not None and bool(loop.key_at_end)
        report = self._reports.read(payload, has_answer=has_answer, has_base=self._has_base)
        if report is None or loop is None or not (has_answer or report.is_next):
            return []
        if is_over and not report.is_next and object_field(cast("Fields", loop.ended), "usage"):
            return []
        self._is_counted = True
        events = loop.resume()
        if report.is_next and (loop.usage or not loop.key):
            self._answers += 1
            events += loop.answer(f"answer {self._answers}", now, [], **self._head())
        loop.at = now
        events += loop.set_usage(counts(report.usage, USAGE, includes_cache=True))
        return events + (loop.end(*self._end) if is_over else [])

    def _compacted(self, payload: Fields, now: str) -> list[Fields]:
        loop = self._open
        return [] if loop is None else loop.compaction(now, None, compaction_summary(payload))

    def _head(self) -> dict[str, str]:
        return {"model": self._model, "provider": self._thread.provider, "stop": "stop"}
