"""When two tool calls ask for the same, and two answers say the same: their keys are equal."""

import json
from hashlib import sha256
from typing import TypeGuard

from recorder.core.changes import Json

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


def arguments_key(arguments: Json) -> str:
    """Return the same key for the same arguments, in whatever order and with whatever space around a text.

    Unset and null are the same.
    """
    if not isinstance(arguments, dict):
        return _key(_CANONICAL.encode(_trimmed(arguments)))
    said = {name: _trimmed(value) for name, value in arguments.items() if value is not None}
    if _are_texts(said):  # mostly; to write long ones as JSON would take longest, and no JSON begins so
        return _key("".join([f"{len(name)} {len(text)} {name}{text}" for name, text in sorted(said.items())]))
    return _key(_CANONICAL.encode(said))


def text_key(text: str) -> str:
    """Return the same key for the same text, whatever space is around it; "" when there is none."""
    said = text.strip()
    return _key(said) if said else ""


def _trimmed(value: Json) -> Json:
    return value.strip() if isinstance(value, str) else value


def _are_texts(values: dict[str, Json]) -> TypeGuard[dict[str, str]]:
    return set(map(type, values.values())) == {str}


def _key(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
