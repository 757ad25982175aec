"""Kinds of recorded text that hits are found in: word, icon, and whether it is shown as code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of text."""

    word: str
    icon: str
    is_code: bool = False


KINDS: Mapping[str, Kind] = {
    "prompt": Kind("Prompt", "user"),
    "answer": Kind("Answer", "bot"),
    "thinking": Kind("Thinking", "brain"),
    "tool_call": Kind("Tool call", "terminal", is_code=True),
    "tool_result": Kind("Tool result", "file-text", is_code=True),
    "system": Kind("System prompt", "settings"),
    "note": Kind("Note", "message-square"),
    "title": Kind("Title", "list-tree"),
}
