"""The exit code of a command from the result of its tool call. Pure.

Runtimes give it as a field of the details (phi-core), or in a line at the beginning of the output:
`Exit code 2` (Claude Code), `Exit Code: 2` (Gemini CLI), `Process exited with code 0` (Codex), or as JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from recorder.core.records import Json

_FIELDS = ("exit_code", "exitCode", "exit", "returncode", "return_code")
_GROUPS = ("details", "metadata")
_WORDS = re.compile(
    r"^\W{0,9}(?:process |command )?exit(?:ed)?(?: with)? (?:code|status):? {0,9}(-?\d{1,10})\b",
    re.IGNORECASE | re.MULTILINE,
)
_JSON = re.compile(r'"exit_?code": ?(-?\d{1,10})\b', re.IGNORECASE)
_SCAN_LIMIT = 600  # characters of the beginning and of the end of a text
_BITS = 32


def exit_code(result: Json) -> int | None:
    """Return the exit code that a result states; None if it states none."""
    if not isinstance(result, dict):
        return _in_words(result) if isinstance(result, str) else None
    for group in (result, *(result.get(name) for name in _GROUPS)):
        if isinstance(group, dict) and (code := _in_fields(group)) is not None:
            return code
    content = result.get("content")
    parts = content if isinstance(content, list) else [content]
    for part in parts:
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str) and (code := _in_words(text)) is not None:
            return code
    return None


def _in_fields(fields: Mapping[str, Json]) -> int | None:
    for name in _FIELDS:
        value = fields.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**_BITS:
            return value
    return None


def _in_words(text: str) -> int | None:
    found = _WORDS.search(text[:_SCAN_LIMIT]) or _JSON.search(text[-_SCAN_LIMIT:])
    code = int(found[1]) if found else None
    return code if code is not None and abs(code) < 2**_BITS else None
