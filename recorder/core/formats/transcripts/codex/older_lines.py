"""The lines of rollouts before August 2025, which are the items themselves, without an envelope."""

from __future__ import annotations

from recorder.core.formats.base import Fields, text_field
from recorder.core.formats.transcripts.codex.items import ITEMS


class OlderLines:
    """Puts such lines into an envelope; only the first of them, the head, has a time."""

    def __init__(self, stored: Fields) -> None:
        self.is_found = bool(stored.get("bare"))
        self._began = text_field(stored, "began")

    def dump(self) -> Fields:
        return {"bare": self.is_found, "began": self._began}

    def in_envelope(self, line: Fields) -> Fields:
        """Return a line as one of today."""
        if "payload" in line or text_field(line, "type") not in ("", *ITEMS):
            return line
        if "record_type" in line:
            return {"timestamp": self._began, "type": "world_state"}
        self.is_found = self.is_found or "instructions" in line
        self._began = text_field(line, "timestamp") or self._began
        kind = "session_meta" if "type" not in line else "response_item"
        return {"timestamp": self._began, "type": kind, "payload": line}
