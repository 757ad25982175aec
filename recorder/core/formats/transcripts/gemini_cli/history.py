"""The history of a chat that Gemini CLI writes again.

When it masks or cuts the outputs of tools, Gemini CLI writes all messages anew under other ids: from the
session context to a `$set` of `messages`, the answers without model and tokens. A prompt among them is
recognised by its words. Answers that the program makes up, as behind an image, have no model either. A
compaction is a `$set` of `messages` with a summary in a message of the user.
"""

from __future__ import annotations

from typing import cast

from recorder.core.formats.base import Fields, text_field
from recorder.core.formats.transcripts.fields import (
    fingerprint,
    forget_first,
    objects,
    prompt_text,
    text_of,
)
from recorder.core.records import Json

PROMPTS_MAX = 500  # prompts that are recognised
_BEGIN = "<session_context>"
_SUMMARY = "<state_snapshot>"


class WrittenHistory:
    """Recognises the messages of one chat that are history. The state is a mark and hashes of texts."""

    def __init__(self, stored: Fields) -> None:
        self._is_anew = bool(stored.get("anew"))
        self._summary = text_field(stored, "summary")  # hash of the last one
        self._prompts = dict.fromkeys(cast("list[str]", stored.get("prompts") or []))

    def dump(self) -> Fields:
        """Return the state as JSON. Its names never change."""
        prompts = cast("Json", list(self._prompts))
        return {"anew": self._is_anew, "summary": self._summary, "prompts": prompts}

    def note_prompt(self, text: str) -> None:
        """Note a prompt, which may be written again."""
        self._prompts[fingerprint(text)] = None
        forget_first(self._prompts, PROMPTS_MAX)

    def copies(self, line: Fields, *, has_begun: bool) -> bool:
        """Return whether a message is history; `has_begun`: the chat has messages."""
        kind = text_field(line, "type")
        if kind == "gemini":
            is_answer = any(line.get(name) for name in ("model", "tokens", "toolCalls"))
            self._is_anew = self._is_anew and not is_answer
            return not is_answer
        content = line.get("content")
        if kind == "user" and text_of(content).lstrip().startswith(_BEGIN):
            self._is_anew = has_begun
        if kind != "user" or not self._is_anew:
            return False
        texts = (prompt_text(content), *(text_field(part, "text") for part in objects(content)))
        return any(fingerprint(text) in self._prompts for text in texts)

    def compaction(self, changes: Json) -> str:
        """Return the summary that a patch has in place of messages; "" if it has none, or the last one."""
        messages = objects(changes.get("messages")) if isinstance(changes, dict) else []
        self._is_anew = self._is_anew and not messages
        texts = (text_of(each.get("content")) for each in messages if each.get("type") == "user")
        summary = next((text for text in texts if _SUMMARY in text), "")
        if not summary or (mark := fingerprint(summary)) == self._summary:
            return ""
        self._summary = mark
        return summary
