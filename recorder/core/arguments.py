"""When two tool calls ask for the same."""

import hashlib
import json

from recorder.core.changes import Json


def arguments_key(arguments: Json) -> str:
    """Return the same key for the same arguments, in whatever order and with whatever space around a text.

    Unset and null are the same.
    """
    said = _trimmed(arguments)
    if isinstance(said, dict):
        said = {name: _trimmed(value) for name, value in said.items() if value is not None}
    canonical = json.dumps(said, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def _trimmed(value: Json) -> Json:
    return value.strip() if isinstance(value, str) else value
