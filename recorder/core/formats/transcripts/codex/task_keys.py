"""The tasks of threads by the keys that forks share with their origin.

A task whose id is of version 7 is known by that id. Any other is known by its place in the thread that first
had it, with its id, or its prompt where no line marks it; of a fork of a fork it is not known which of its
origins that is, so such a task has no key there.
"""

from __future__ import annotations

from typing import cast

from recorder.core.formats.base import Fields, object_field, text_field
from recorder.core.formats.transcripts.codex.copied_history import CopiedHistory, has_time
from recorder.core.formats.transcripts.codex.heads import Head
from recorder.core.formats.transcripts.codex.items import prompt_of
from recorder.core.formats.transcripts.codex.task_starts import TaskStarts
from recorder.core.formats.transcripts.fields import fingerprint
from recorder.core.formats.transcripts.repeats import LineKey, key_hash


class TaskKeys:
    """The keys of one thread's tasks; the tasks of a sub-agent have none."""

    def __init__(self, stored: Fields) -> None:
        self._thread = text_field(stored, "thread")  # "": its tasks have no keys
        self._origin = text_field(stored, "origin")  # "": not forked
        self._is_nested = bool(stored.get("nested"))  # a fork of a fork
        self._begun = int(cast("int", stored.get("starts") or 0))  # tasks that began, also copied ones
        self._turn = text_field(stored, "turn")  # id of the last task that is recorded here
        self.is_elsewhere = bool(stored.get("elsewhere"))  # the task that goes on is recorded elsewhere
        self.starts = TaskStarts(object_field(stored, "lines") or {"marked": self._begun > 0})

    @classmethod
    def load(cls, reading: Fields) -> TaskKeys:
        """Load the state from that of a reader; an earlier release stored none."""
        thread = "" if text_field(reading, "parent") else text_field(reading, "thread")
        return cls(object_field(reading, "keys") or {"thread": thread, "starts": reading.get("tasks")})

    def dump(self) -> Fields:
        """Return the state as JSON."""
        return {
            "thread": self._thread,
            "origin": self._origin,
            "nested": self._is_nested,
            "starts": self._begun,
            "turn": self._turn,
            "elsewhere": self.is_elsewhere,
            "lines": self.starts.dump(),
        }

    def note_head(self, head: Head) -> None:
        self._thread, self._origin = "" if head.parent else head.thread, head.origin

    def note_copied_head(self, head: Head) -> None:
        """Note the head of an origin; one that is itself a fork leaves open whose the copied tasks are."""
        self._is_nested |= bool(head.origin) or self._origin not in ("", head.thread)
        self._origin = self._origin or head.thread

    def key_of(self, line: Fields, history: CopiedHistory, now: str) -> LineKey | None:
        """Return the key of a line that starts a task; None for any other."""
        if not (self._thread and self.starts.has(line)):
            return None
        turn, is_copy = _turn_of(line), history.copies(line, now)
        if history.is_imported(turn):
            return None
        named = turn
        if not has_time(turn):
            thread = self._origin if is_copy else self._thread
            is_known = bool(thread) and not (is_copy and self._is_nested)
            own = turn or fingerprint(prompt_of(object_field(line, "payload")))
            named = f"{thread} {self._begun} {own}" if is_known else ""
        return LineKey(key_hash(f"cx {named}"), "", "copy" if is_copy else "answer") if named else None

    def continues(self, line: Fields) -> bool:
        """Return whether a line starts the last task again."""
        turn = _turn_of(line)
        return bool(turn) and turn == self._turn and self.starts.has(line)

    def note(self, line: Fields, *, is_elsewhere: bool) -> None:
        """Note a line, and if it starts a task whether that is recorded elsewhere."""
        if self.starts.has(line):
            self._begun += 1
            self.is_elsewhere, self._turn = is_elsewhere, self._turn if is_elsewhere else _turn_of(line)
        self.starts.note(line)


def _turn_of(line: Fields) -> str:
    """Return the id of the task that a line names; "" without one."""
    return text_field(object_field(line, "payload"), "turn_id")
