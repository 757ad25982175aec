"""When two tool calls ask for the same, and two answers say the same: their keys are equal."""

import json
from hashlib import sha256

from recorder.core.records import Json

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


def arguments_key(arguments: Json) -> str:
    """Return the same key for the same arguments, in whatever order and with whatever space around a text.

    Unset and null are the same.
    """
    if not isinstance(arguments, dict):
        return _key(_CANONICAL.encode(_trimmed(arguments)))
    if texts := _texts(arguments):  # mostly; to write long ones as JSON would take longest
        return _key(texts)
    said = {name: _trimmed(value) for name, value in arguments.items() if value is not None}
    return _key(_CANONICAL.encode(said))


def text_key(text: str) -> str:
    """Return the same key for the same text, whatever space is around it; "" when there is none."""
    said = text.strip()
    return _key(said) if said else ""


def _trimmed(value: Json) -> Json:
    return value.strip() if isinstance(value, str) else value


def _texts(arguments: dict[str, Json]) -> str:
    """Write arguments that are all texts, as no JSON begins; "" if any is not, or all are unset."""
    said = []
    for name, value in sorted(arguments.items()):
        if isinstance(value, str):
            text = value.strip()
            said.append(f"{len(name)} {len(text)} {name}{text}")
        elif value is not None:
            return ""
    return "".join(said)


def _key(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
