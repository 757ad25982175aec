"""Reader of Gemini CLI's chats: `tmp/<project>/chats/session-<time>-<id>.jsonl`.

A message is written again under its id once its tools ran: the later line adds the calls with their results.
The results come once more as a message of the user, which is no prompt. A sub-agent has a file and a session
of its own, which the call that started it names. `$rewindTo` undoes a message and all behind it: the next
prompt is a branch of the loop that holds the message before it. Usage that an answer lacks may come with a
later line of it, also behind other answers: it counts at its turn.
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
    format_time,
    object_field,
    parse_time,
    text_field,
)
from recorder.core.formats.transcripts.fields import (
    UNDONE,
    before,
    forget_first,
    loop_id,
    objects,
    prompt_text,
    text_of,
    time_text,
)
from recorder.core.formats.transcripts.gemini_cli.history import WrittenHistory
from recorder.core.formats.transcripts.gemini_cli.messages import (
    blocks_of,
    call_blocks,
    has_failed,
    is_added,
    is_feedback,
    result_text,
    usage_of,
)
from recorder.core.formats.transcripts.late_usage import add_to_total, late_usage
from recorder.core.formats.transcripts.line_loops import keep_unknown, loop_of_line
from recorder.core.formats.transcripts.open_loop import OpenLoop, Refusal
from recorder.core.formats.transcripts.repeats import LineKey, history_of, key_hash
from recorder.core.records import Json

AGENT = "gemini-cli"
PROVIDER = "google"
RESULTS_MAX = 5_000  # calls of a prompt that have ended
MESSAGES_MAX = 1_000  # messages that are known when they are written again, or undone
_COMPLETE = "complete_task"  # with which a sub-agent ends
_CANCELLED_BY_USER = "Request cancelled"
_CANCELLED = frozenset(("cancelled", "canceled"))
_WITHOUT_RESULT = frozenset(("error", *_CANCELLED))  # statuses of calls that ended, with or without a result
_DENIED = re.compile(r"User (?:did not allow|denied|rejected|declined)", re.IGNORECASE)


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
        self._is_child = bool(stored.get("child"))  # a sub-agent
        self._last = text_field(stored, "last")  # id of the last answer
        # Calls of the loop with a result.
        self._results = dict.fromkeys(cast("list[str]", stored.get("results") or []))
        # By id of a message, in order: its loop.
        self._messages = cast("dict[str, str]", stored.get("messages") or {})
        # By id of an answer that has no usage yet: its turn.
        self._without_usage = cast("dict[str, int]", stored.get("without_usage") or {})
        self._undone = object_field(stored, "undone")  # `above`: the loop that goes on; {} if it is the last
        self._types = cast("dict[str, int]", stored.get("types") or {})  # unknown ones
        self._history = WrittenHistory(object_field(stored, "history"))
        self._title = text_field(stored, "title")  # which the agent gave the session
        loop = stored.get("loop")
        self._loop = OpenLoop.load(loop) if isinstance(loop, dict) else None

    @property
    def state(self) -> Json:
        loop = None if self._loop is None else self._loop.dump()
        return {
            "session": self._session,
            "child": self._is_child,
            "last": self._last,
            "results": cast("Json", list(self._results)),
            "messages": cast("Json", self._messages),
            "without_usage": cast("Json", self._without_usage),
            "undone": self._undone,
            "types": cast("Json", self._types),
            "history": self._history.dump(),
            "title": self._title,
            "loop": loop,
        }

    def read(self, line: Fields, at: datetime) -> Translation:
        """Translate a line."""
        kind, now = text_field(line, "type"), time_text(line.get("timestamp"), at)
        reading = Translation(kind or "line", timestamp=parse_time(line.get("timestamp")))
        if "sessionId" in line and not self._session:
            session = line["sessionId"]
            self._session = session if is_id(session) else ""
            self._is_child = line.get("kind") == "subagent"
            reading.name, reading.events = "session", self._name_session(line)
        elif "$set" in line:
            changes = object_field(line, "$set")
            reading.name, reading.events = (
                "$set",
                self._change(changes, time_text(changes.get("lastUpdated"), at)),
            )
        elif "$rewindTo" in line:
            reading.name = "$rewindTo"
            reading.events = self._rewind(text_field(line, "$rewindTo"), now)
        elif self._history.copies(line, has_begun=bool(self._messages)):
            pass
        elif kind == "user":
            reading.events = self._user(line, now)
        elif kind == "gemini":
            reading.events = self._answer(line, now)
        elif kind in ("error", "info", "warning"):
            reading.events = self._notice(kind, line, now)
        elif (not self._session or kind) and "sessionId" not in line:
            keep_unknown(reading, line, self._types)
        reading.session_id = self._session or None
        reading.loop_id = loop_of_line(self._loop, reading.events, self._session)
        return reading

    def key_of(self, line: Fields) -> LineKey | None:
        """Return the key of a message: a chat that goes on in a copy has it with its id and time."""
        kind, names = text_field(line, "type"), [text_field(line, name) for name in ("id", "timestamp")]
        if kind not in ("user", "gemini") or not all(names):
            return None
        return LineKey(key_hash(" ".join(("gemini", *names))), "", "answer" if kind == "gemini" else "other")

    def continues(self, line: Fields) -> bool:
        """Return whether a line is of a message of this file, which is written again."""
        return text_field(line, "id") in self._messages

    @property
    def open_loops(self) -> list[OpenLoop]:
        return [] if self._loop is None or self._loop.is_over else [self._loop]

    def session_of(self, _line: Fields) -> str:
        return self._session

    def repeat(self, line: Fields, _at: datetime) -> Translation:
        """Return the translation of a message that is recorded elsewhere: history, without events."""
        return history_of(line, self._session, self._session, parse_time(line.get("timestamp")))

    def end_of_stream(self, at: datetime) -> list[Fields]:
        """End the loop if its last answer asked for nothing more; else it is aborted."""
        return [] if self._loop is None else self._loop.end_of_stream(time_text(None, at))

    def _change(self, changes: Fields, now: str) -> list[Fields]:
        """Read a patch: the one that follows each message, with a compaction, or with a title."""
        loop, events = self._loop, self._name_session(changes)
        summary = self._history.compaction(changes)
        if loop is None:
            return events
        if summary:
            is_over = loop.has_ended
            events += [*loop.compaction(now, None, summary), *(loop.end(now) if is_over else [])]
        return events + (loop.end(loop.at or now) if loop.is_finished and "lastUpdated" in changes else [])

    def _name_session(self, about: Fields) -> list[Fields]:
        """Note the title that the agent gave a session; a sub-agent has its result there."""
        self._title = ("" if self._is_child else text_field(about, "summary")) or self._title
        return self._titled() if self._loop is not None and about.get("summary") else []

    def _titled(self) -> list[Fields]:
        title: Fields = {"type": "SessionInfo", "session_id": self._session, "title": self._title}
        return [title] if self._title else []

    def _begin(self, name: Json, now: str) -> list[Fields]:
        previous = self._loop
        events = previous.end(previous.at or now) if previous is not None else []
        self._session = self._session or "gemini-cli"
        is_first_of_child = self._is_child and not self._last
        name = self._session if is_first_of_child else name
        self._loop = OpenLoop(self._session, loop_id(self._session, name))
        self._results = {}
        more: Fields = {}
        if self._undone:
            more = {"continuation_kind": UNDONE, "parent_loop_id": text_field(self._undone, "above") or None}
            self._undone = {}
        events += self._loop.start(AGENT, now, None, adopts=before(self._session), **more)
        return events + (self._titled() if previous is None else [])

    def _note(self, line: Fields) -> None:
        """Note the loop of a message by its id."""
        name = text_field(line, "id")
        if name and self._loop is not None:
            self._messages[name] = self._loop.loop_id
            forget_first(self._messages, MESSAGES_MAX)

    def _rewind(self, name: str, now: str) -> list[Fields]:
        """Undo a message and all behind it, or all of them if it is not known; the open loop ends."""
        loop, names = self._loop, [*self._messages]
        if loop is None or not name:
            return []
        kept = names[: names.index(name)] if name in self._messages else []
        self._messages = {each: self._messages[each] for each in kept}
        self._undone = {"above": self._messages[kept[-1]] if kept else ""}
        return loop.end(loop.at or now, "" if loop.is_finished else "cancelled")

    def _user(self, line: Fields, now: str) -> list[Fields]:
        content = line.get("content")
        if any("functionResponse" in part for part in objects(content)):
            return []
        text = prompt_text(content)
        if not text or is_added(text) or text_field(line, "id") in self._messages:  # written again
            return []
        self._history.note_prompt(text)
        # The program writes to a sub-agent, as when it called no tool.
        if self._loop is not None and (self._is_child or is_feedback(text, line)):
            return self._loop.prompt(text, now)
        events = self._begin(line.get("id"), now)
        assert self._loop is not None
        self._note(line)
        return events + self._loop.prompt(text, now)

    def _answer(self, line: Fields, now: str) -> list[Fields]:
        key = text_field(line, "id") or now
        events = self._begin(line.get("id"), now) if self._loop is None or self._undone else []
        loop = self._loop
        assert loop is not None
        calls = objects(line.get("toolCalls"))
        usage = usage_of(object_field(line, "tokens"))
        has_usage = any(usage.values())
        if key in self._messages and loop.key_at_end != key:  # written again behind a later answer
            late = self._late_usage(loop, key, usage, line, now) if has_usage else []
            is_of_loop = self._messages[key] == loop.loop_id
            return late + (self._late_calls(loop, calls, now) if is_of_loop else [])
        blocks = blocks_of(line, calls)
        if loop.key_at_end == key:  # written again, and only calls can be new
            blocks = [block for block in blocks if self._is_new_call(loop, block)]
            brings_usage = has_usage and key in self._without_usage
            if loop.is_over and not blocks and not calls and not brings_usage:
                return events
        self._last = key
        self._note(line)
        stop = "tool_calls" if calls else "stop"
        events += loop.answer(key, now, blocks, model=text_field(line, "model"), provider=PROVIDER, stop=stop)
        if has_usage:
            self._without_usage.pop(key, None)
            events += loop.set_usage(usage)
        else:
            self._without_usage[key] = loop.turn
            forget_first(self._without_usage, MESSAGES_MAX)
        for call in calls:
            events += self._result(loop, call, now)
        if self._is_child and any(call.get("name") == _COMPLETE and "result" in call for call in calls):
            events += loop.end(now)
        return events

    def _late_usage(
        self, loop: OpenLoop, key: str, usage: dict[str, int], line: Fields, now: str
    ) -> list[Fields]:
        """Count the usage of an earlier answer, also of an earlier loop, that was written without any."""
        turn, of_loop = self._without_usage.pop(key, None), self._messages[key]
        if turn is None:
            return []
        if of_loop == loop.loop_id:
            add_to_total(loop, usage)
        return [late_usage(of_loop, turn, usage, now, model=text_field(line, "model"), provider=PROVIDER)]

    def _late_calls(self, loop: OpenLoop, calls: list[Fields], now: str) -> list[Fields]:
        """End calls of an earlier answer; one that it did not have before joins the last answer."""
        blocks = [block for block in call_blocks(calls) if self._is_new_call(loop, block)]
        events = loop.answer(loop.key_at_end, now, blocks) if blocks and loop.key_at_end else []
        return events + [event for call in calls for event in self._result(loop, call, now)]

    def _is_new_call(self, loop: OpenLoop, block: Fields) -> bool:
        call = block.get("id")
        return block["type"] == "toolCall" and call not in loop.calls and call not in self._results

    def _result(self, loop: OpenLoop, call: Fields, now: str) -> list[Fields]:
        name = text_field(call, "id")
        status = text_field(call, "status")
        if name in self._results or ("result" not in call and status not in _WITHOUT_RESULT):
            return []
        self._results[name] = None
        forget_first(self._results, RESULTS_MAX)
        text = result_text(call)
        is_cancelled = status in _CANCELLED
        refusal: Refusal = "denied" if is_cancelled and _DENIED.search(text) else ""
        own = parse_time(call.get("timestamp"))
        tool, ended = loop.tool_name(name), now if own is None else format_time(own)
        events = loop.end_tool(
            name, text, ended, has_failed=has_failed(call, text) and not is_cancelled, refusal=refusal
        )
        child = call.get("agentId")
        if tool and is_id(child):
            events.append(loop.link(name, tool, loop_id(child, child), child))
        return events

    def _notice(self, kind: str, line: Fields, now: str) -> list[Fields]:
        loop, text = self._loop, text_of(line.get("content"))
        if loop is not None and kind == "info" and text.startswith(_CANCELLED_BY_USER):
            return loop.end(now, "cancelled")
        if loop is None or kind != "error":
            return []
        raised = loop.event("ErrorRaised", scope="loop", message=text, timestamp=now)
        return [raised, *(loop.end(now) if loop.is_finished else loop.end(now, "failed", text))]
