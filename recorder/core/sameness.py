"""When two tool calls ask for the same, and two answers say the same: their keys are equal."""

import hashlib
import json

from recorder.core.changes import Json

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


def arguments_key(arguments: Json) -> str:
    """Return the same key for the same arguments, in whatever order and with whatever space around a text.

    Unset and null are the same.
    """
    said = _trimmed(arguments)
    if isinstance(said, dict):
        said = {name: _trimmed(value) for name, value in said.items() if value is not None}
    return _key(_CANONICAL.encode(said))


def text_key(text: str) -> str:
    """Return the same key for the same text, whatever space is around it; "" when there is none."""
    said = text.strip()
    return _key(said) if said else ""


def _trimmed(value: Json) -> Json:
    return value.strip() if isinstance(value, str) else value


def _key(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
