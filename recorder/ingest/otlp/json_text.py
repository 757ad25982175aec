"""JSON texts of journal lines and answers."""

from __future__ import annotations

import json


def json_text(value: object) -> bytes:
    """Return a value as compact JSON in UTF-8; lone surrogates, which UTF-8 has none of, are escaped."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()
