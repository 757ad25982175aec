"""The history of its origin with which the rollout of a fork or of a forked sub-agent begins.

The copies are written in one burst, with the time of the fork or their own earlier times. A turn id of
version 7 has the time of its task. Where ids have none, a task is the fork's own if it, or its first answer,
comes later than the burst: its lines are held until that shows.

A session of another agent that Codex imported is copied history too: the ids of its tasks say so.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import cast

from recorder.core.formats.base import Fields, object_field, parse_time, text_field
from recorder.core.formats.transcripts.codex.record_types import STARTS
from recorder.core.formats.transcripts.fields import is_context, text_of
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
        self._is_marked = bool(stored.get("marked"))  # a copied line marks the start of a task
        self._held = cast("list[Fields]", stored.get("held") or [])
        self._is_imported = bool(stored.get("imported"))

    def dump(self) -> Fields:
        """Return the state as JSON; {} once the first task of the fork has begun."""
        return self._dump_fork() | ({"imported": True} if self._is_imported else {})

    def _dump_fork(self) -> Fields:
        if not self._is_open:
            return {"began": self._began} if self._began else {}
        found: Fields = {"began": self._began, "copied": self._began, "last": self._last}
        return found | {"marked": self._is_marked, "held": cast("Json", self._held)}

    def note_head(self, began: str, *, is_fork: bool) -> None:
        """Note the head of the rollout; behind that of a fork the copied history begins."""
        self._began, self._is_open = began, is_fork

    def note_origin(self, at: str) -> None:
        """Note the head of the origin, which is the first copied line."""
        self._is_open, self._last = True, at

    def own_lines(self, line: Fields, now: str) -> list[Fields]:
        """Return the lines to read: none for a copy, else this one behind those that were held."""
        payload = object_field(line, "payload")
        if text_field(payload, "type") in STARTS:
            self._is_imported = text_field(payload, "turn_id").startswith(_IMPORTED)
        if self._is_imported or not self._is_open:
            return [] if self._is_imported else [line]
        at, began, last = parse_time(now), parse_time(self._began), parse_time(self._last)
        is_later = at is not None and last is not None and at - last > _BURST
        is_early = at is not None and began is not None and at < began
        self._last = now
        if self._begins_task(line):
            turn = _UUID7.fullmatch(text_field(payload, "turn_id"))
            if turn and began is not None:
                return self._close(line) if _time_of(turn) >= began.timestamp() * 1000 - 1 else []
            if is_later and not is_early:
                return self._close(line)
            self._held = [] if is_early else [line]
            return []
        if self._held and is_later:
            return self._close(*self._held, line)
        if _is_answer(line) or len(self._held) >= HELD_MAX:
            self._held = []
        elif self._held:
            self._held.append(line)
        return []

    def _close(self, *lines: Fields) -> list[Fields]:
        self._is_open, self._held, self._began = False, [], ""
        return [*lines]

    def _begins_task(self, line: Fields) -> bool:
        """Return whether a line begins a task: as a mark, or where no line marks them as a prompt."""
        payload = object_field(line, "payload")
        name = text_field(payload, "type")
        if name in STARTS:
            self._is_marked = True
            return True
        if self._is_marked or self._held:
            return False
        is_message = name == "message" and payload.get("role") == "user"
        return name == "user_message" or (is_message and not is_context(text_of(payload.get("content"))))


def _time_of(turn: re.Match[str]) -> int:
    """Return the time of an id of version 7, in milliseconds since 1970."""
    return int(turn[1] + turn[2], 16)


def _is_answer(line: Fields) -> bool:
    """Return whether a line is a part of an answer, or the end of a task."""
    payload = object_field(line, "payload")
    if text_field(line, "type") == "response_item":
        return text_field(payload, "type") != "message" or payload.get("role") == "assistant"
    return text_field(payload, "type") in ("agent_message", "task_complete", "turn_complete", "turn_aborted")
