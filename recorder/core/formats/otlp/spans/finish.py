"""Why an answer ended, as one word: senders write lists, objects, enums, and what Python prints of these."""

from __future__ import annotations

from recorder.core.formats.otlp.spans.attributes import decoded, identifier
from recorder.core.records import Json

_CHARS = 40
_FIELDS = ("unified", "reason", "finish_reason", "finishReason", "type", "raw")  # of an object
_NONE = frozenset(("none", "null", "undefined"))


def finish_reason(value: Json) -> str:
    """Return the first finish reason of a value; "" if it has none."""
    value = decoded(value)
    while isinstance(value, list):
        value = decoded(value[0]) if value else None
    if isinstance(value, dict):
        value = next((found for name in _FIELDS if isinstance(found := value.get(name), str)), None)
    text = str(value or "").strip("[]'\" ").partition(",")[0].strip("'\" ")  # as Python prints a list
    found = identifier(text.removeprefix("FinishReason."))[:_CHARS]  # and an enum
    return "" if found.lower() in _NONE else found
