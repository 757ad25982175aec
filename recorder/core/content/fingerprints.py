"""Fingerprints of tool arguments and answers: equal for equal content, 16 hex digits of SHA-256."""

import json
from hashlib import sha256

from recorder.core.records import Json

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


def arguments_key(arguments: Json) -> str:
    """Return the fingerprint of a tool call's arguments.

    It is independent of key order and of space around texts; null counts as unset.
    """
    if not isinstance(arguments, dict):
        return _key(_CANONICAL.encode(_trimmed(arguments)))
    if texts := _texts(arguments):  # most calls; JSON encoding of long texts would dominate the cost
        return _key(texts)
    values = {name: _trimmed(value) for name, value in arguments.items() if value is not None}
    return _key(_CANONICAL.encode(values))


def text_key(text: str) -> str:
    """Return the fingerprint of a text without the space around it; "" for an empty text."""
    trimmed = text.strip()
    return _key(trimmed) if trimmed else ""


def _trimmed(value: Json) -> Json:
    return value.strip() if isinstance(value, str) else value


def _texts(arguments: dict[str, Json]) -> str:
    """Encode arguments whose values are all text, unlike any JSON; "" if a value is not text."""
    parts = []
    for name, value in sorted(arguments.items()):
        if isinstance(value, str):
            text = value.strip()
            parts.append(f"{len(name)} {len(text)} {name}{text}")
        elif value is not None:
            return ""
    return "".join(parts)


def _key(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
