"""Older forms of transcripts.

Gemini CLI before 0.39 wrote a chat as one JSON document: it is read as the lines of the later form. Codex of
August 2025 wrote the items of a rollout without an envelope; their first line is recognised here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from loopscope_client.transcripts.open_file import NotReadable, opened

DOCUMENT_MAX = 64 * 1024 * 1024  # bytes
_HEAD = ("sessionId", "projectHash", "startTime", "kind", "directories")  # the part that never changes
Fields = dict[str, Any]


def chat_lines(path: Path) -> list[bytes]:
    """Return the lines of a chat of Gemini CLI that is one document. Raises OSError."""
    with opened(path) as file:
        text = file.read(DOCUMENT_MAX + 1)
    if len(text) > DOCUMENT_MAX:
        raise NotReadable(f"it has more than {DOCUMENT_MAX >> 20} MiB")
    try:
        chat = json.loads(text)
    except (ValueError, RecursionError):
        raise NotReadable("it is no complete JSON document") from None
    if not is_chat(chat):
        raise NotReadable("it is no chat of Gemini CLI")
    head = {name: chat[name] for name in _HEAD if name in chat}
    return [_line(each) for each in (head, *chat["messages"])]


def is_chat(value: object) -> bool:
    """Return whether a document is a chat of Gemini CLI."""
    is_named = isinstance(value, dict) and isinstance(value.get("sessionId"), str) and "projectHash" in value
    return is_named and isinstance(value.get("messages"), list)  # type: ignore[attr-defined]  # a dict


def is_bare_head(line: bytes) -> bool:
    """Return whether a line begins a rollout of Codex without envelopes."""
    head = _object(line)
    is_named = isinstance(head.get("id"), str) and isinstance(head.get("timestamp"), str)
    return is_named and "instructions" in head and not {"type", "payload"}.intersection(head)


def _object(line: bytes) -> Fields:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _line(fields: object) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()
