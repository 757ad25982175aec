"""Text of approval requests. Warnings and options come from agents and may be any JSON."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from recorder.core.content.text import excerpt, json_text

COMMAND_MAX = 2_000
LINES_MAX, LINE_MAX = 8, 300  # warnings or options of one request, and characters of each
TEXT_BY_KIND = {  # shown when the request has no command
    "elicitation": "A tool server requests input",
    "limit": "Limit reached: continue?",
}
DEFAULT_TEXT = "The request has no text"


def fallback_text(kind: str) -> str:
    """Return the text that is shown when the request has no command."""
    return TEXT_BY_KIND.get(kind, DEFAULT_TEXT)


def as_lines(value: object) -> Sequence[str]:
    """Return warnings or options as lines."""
    match value:
        case None | "":
            return ()
        case list():
            return [_as_line(each) for each in value[:LINES_MAX]]
        case dict():
            pairs = islice(value.items(), LINES_MAX)
            return [f"{excerpt(str(name), LINE_MAX)}: {_as_line(each)}" for name, each in pairs]
        case _:
            return [_as_line(value)]


def _as_line(value: object) -> str:
    text = value if isinstance(value, str) else json_text(value)
    return excerpt(text, LINE_MAX)
