"""The history of its origin with which the rollout of a fork or of a forked sub-agent begins.

The copies are written in one burst, with the time of the fork or their own earlier times. A turn id of
version 7 has the time of its task. Where ids have none, a task is the fork's own if it comes later than the
burst.

A copied task that has a key (`task_keys`) is read as any other: where its origin is known, it is recorded
there. One without a key is left out; whether it is the fork's own may show with its first answer: its lines
are held until then.

A session of another agent that Codex imported is copied history too: the ids of its tasks say so.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import cast

from recorder.core.formats.base import Fields, format_time, object_field, parse_time, text_field
from recorder.core.formats.transcripts.codex.record_types import STARTS
from recorder.core.formats.transcripts.codex.task_starts import is_answer
from recorder.core.records import Json

HELD_MAX = 20  # lines of a task before its first answer
_UUID7 = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII)
_IMPORTED = "external-import-turn-"  # begins the id of a task that another agent had
_BURST = timedelta(milliseconds=500)  # between two lines of a copied history


class CopiedHistory:
    """Recognises the copied lines of one rollout. Its state is at most `HELD_MAX` lines."""

    def __init__(self, stored: Fields) -> None:
        self._began = text_field(stored, "began")  # time of the head
        self._is_open = "copied" in stored
        # Time of the last copied line; "": none has come.
        self._last = text_field(stored, "last" if "last" in stored else "copied")
        self._held = cast("list[Fields]", stored.get("held") or [])
        self._is_imported = bool(stored.get("imported"))
        self.is_read = bool(stored.get("read"))  # the copied task that goes on is read
        self._task_at = text_field(stored, "at")  # its time, if its lines have that of the fork

    def dump(self) -> Fields:
        """Return the state as JSON; {} once the first task of the fork has begun."""
        return self._dump_fork() | ({"imported": True} if self._is_imported else {})

    def _dump_fork(self) -> Fields:
        if not self._is_open:
            return {"began": self._began} if self._began else {}
        found: Fields = {"began": self._began, "copied": self._began, "last": self._last}
        found["held"] = cast("Json", self._held)
        return found | ({"read": True, "at": self._task_at} if self.is_read else {})

    def note_head(self, began: str, *, is_fork: bool) -> None:
        """Note the head of the rollout; behind that of a fork the copied history begins."""
        self._began, self._is_open = began, is_fork

    def note_origin(self, at: str) -> None:
        """Note the head of the origin, which is the first copied line; it may have its own earlier time."""
        self._is_open, self._last = True, "" if self._is_early(at) else at

    def is_imported(self, turn: str) -> bool:
        """Return whether a task is of another agent."""
        return turn.startswith(_IMPORTED)

    def copies(self, line: Fields, now: str) -> bool:
        """Return whether a line that starts a task is a copy, as far as it shows."""
        if not self._is_open:
            return False
        turn = _UUID7.fullmatch(text_field(object_field(line, "payload"), "turn_id"))
        began = parse_time(self._began)
        if turn and began is not None:
            return _time_of(turn) < began.timestamp() * 1000 - 1
        return self._is_early(now) or not self._is_later(now)

    def lines_to_read(self, line: Fields, now: str, *, is_start: bool, has_key: bool) -> list[Fields]:
        """Return the lines to read: none for a copy without a key, else this one behind those held.

        `is_start`: the line starts a task.
        """
        payload = object_field(line, "payload")
        if text_field(payload, "type") in STARTS:
            self._is_imported = self.is_imported(text_field(payload, "turn_id"))
        if self._is_imported or not self._is_open:
            return [] if self._is_imported else [line]
        is_copy, is_later, is_early = self.copies(line, now), self._is_later(now), self._is_early(now)
        self._last = now
        if is_start:
            if not is_copy:
                return self._close(line)
            turn = _UUID7.fullmatch(text_field(payload, "turn_id"))
            self.is_read, self._task_at = has_key, _time_text(turn) if turn and not is_early else ""
            self._held = [line] if not (has_key or turn or is_early) else []
        elif self._held and is_later:
            return self._close(*self._held, line)
        elif is_answer(line) or len(self._held) >= HELD_MAX:
            self._held = []
        elif self._held:
            self._held.append(line)
        return [line | ({"timestamp": self._task_at} if self._task_at else {})] if self.is_read else []

    def _is_later(self, now: str) -> bool:
        """Return whether a line comes later than the burst."""
        at, last = parse_time(now), parse_time(self._last)
        return at is not None and last is not None and at - last > _BURST

    def _is_early(self, now: str) -> bool:
        """Return whether a line is from before the fork."""
        at, began = parse_time(now), parse_time(self._began)
        return at is not None and began is not None and at < began

    def _close(self, *lines: Fields) -> list[Fields]:
        self._is_open, self._held, self._began, self.is_read = False, [], "", False
        return [*lines]


def has_time(turn: str) -> bool:
    """Return whether the id of a task has its time: no other task has it."""
    return _UUID7.fullmatch(turn) is not None


def _time_text(turn: re.Match[str]) -> str:
    return format_time(datetime.fromtimestamp(_time_of(turn) / 1000, UTC))


def _time_of(turn: re.Match[str]) -> int:
    """Return the time of an id of version 7, in milliseconds since 1970."""
    return int(turn[1] + turn[2], 16)
