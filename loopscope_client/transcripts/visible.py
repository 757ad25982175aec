"""Makes a text safe to print."""

from __future__ import annotations

import unicodedata

_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def visible(text: str) -> str:
    """Return a text with U+FFFD in place of control, surrogate and bidi characters.

    They would clear a terminal, or show another text than the one that is there.
    """
    return "".join("\ufffd" if c in _BIDI or unicodedata.category(c) in ("Cc", "Cs") else c for c in text)
