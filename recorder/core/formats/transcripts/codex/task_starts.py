"""The lines of a rollout that start a task: marks, or where no line marks them, prompts behind an answer."""

from __future__ import annotations

from typing import cast

from recorder.core.formats.base import Fields, object_field, text_field
from recorder.core.formats.transcripts.codex.items import prompt_of
from recorder.core.formats.transcripts.codex.record_types import ENDS, STARTS
from recorder.core.formats.transcripts.fields import forget_first, is_context
from recorder.core.records import Json

CALLS_MAX = 200  # calls without a result


class TaskStarts:
    """Recognises the starts of one rollout. A prompt comes on two lines: the first one starts the task."""

    def __init__(self, stored: Fields) -> None:
        self._is_marked = bool(stored.get("marked"))
        self._is_open = bool(stored.get("open"))  # a task began that has no answer yet
        self._calls = cast("dict[str, int]", stored.get("calls") or {})

    def dump(self) -> Fields:
        """Return the state as JSON."""
        return {"marked": self._is_marked, "open": self._is_open, "calls": cast("Json", self._calls)}

    def has(self, line: Fields) -> bool:
        """Return whether a line starts a task."""
        payload = object_field(line, "payload")
        name = text_field(payload, "type")
        if name in STARTS or self._is_marked or self._is_open or self._calls:
            return name in STARTS
        is_prompt = name == "user_message" or (name == "message" and payload.get("role") == "user")
        return is_prompt and bool(text := prompt_of(payload)) and not is_context(text)

    def note(self, line: Fields) -> None:
        """Note a line, which may start a task or answer it."""
        payload = object_field(line, "payload")
        name, call = text_field(payload, "type"), text_field(payload, "call_id")
        self._is_marked |= name in STARTS
        if self._is_marked:
            self._calls = {}
        elif name.endswith("_call_output") or name in ENDS:
            self._calls = {key: 1 for key in self._calls if key != call and name not in ENDS}
        elif name.endswith("_call") and call:
            self._calls[call] = 1
            forget_first(self._calls, CALLS_MAX)
        self._is_open = (self._is_open or self.has(line)) and not is_answer(line)


def is_answer(line: Fields) -> bool:
    """Return whether a line is a part of an answer, or the end of a task."""
    payload = object_field(line, "payload")
    if text_field(line, "type") == "response_item":
        return text_field(payload, "type") != "message" or payload.get("role") == "assistant"
    return text_field(payload, "type") in ("agent_message", *ENDS)
