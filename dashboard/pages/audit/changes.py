"""The changes of an action as short text: values before and after, from JSON. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass

from recorder.core.content.text import clean
from recorder.core.records import Json

VALUE_MAX = 300  # characters of one side


@dataclass(frozen=True, slots=True)
class Change:
    """Both sides as text, "" where nothing is recorded; of two objects only the fields that differ."""

    before: str = ""
    after: str = ""


def change(before: Json, after: Json, null: str = "") -> Change:
    """Return the text of a change; `null` is the word for a side without a value."""
    if isinstance(before, dict) and isinstance(after, dict):
        names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
        before, after = ({name: side.get(name) for name in names} for side in (before, after))
    return Change(_text(before, null), _text(after, null))


def _text(value: Json, null: str) -> str:
    if isinstance(value, dict):
        text = ", ".join(f"{name.replace('_', ' ')} {_scalar(part)}" for name, part in value.items())
    else:
        text = null if value is None else _scalar(value)
    text = clean(text)
    return text if len(text) <= VALUE_MAX else f"{text[:VALUE_MAX]}…"


def _scalar(value: Json) -> str:
    if value is None:
        return "none"
    if isinstance(value, str):
        return value or "“”"
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return ", ".join(map(str, value)) or "none"
    return json.dumps(value, ensure_ascii=False)
