"""The checks that a match of some rules must pass, as in `recorder/masking/rule.py`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_TEMPLATE = re.compile(rb"\$.*|\{.*\}|%[({]?[a-z_]*[)}]?s|\[.*\]|\+.*\+|\.\.\.|\xe2\x80\xa6", re.IGNORECASE)
_PORT = re.compile(rb"[0-9]{1,5}[/?#].*")
_AROUND = b",;)]}"  # ends of the code around it
_WORDS = frozenset((b"pass", b"passwd", b"password", b"pwd", b"none", b"null"))
_MARKER = re.compile(rb"-----(?:BEGIN|END)[^-]*-----")
_KEY = re.compile(rb"[A-Za-z0-9+/=]{16}")


def has_digit(secret: bytes) -> bool:
    """Return whether a text is more than a word."""
    return any(48 <= each <= 57 for each in secret)


def is_password(secret: bytes) -> bool:
    """Return whether the password of an address is one.

    It is none if it is a template, a port with a path, one repeated character, or a word that documents write
    for one.
    """
    bare = secret.strip(_AROUND).lower()
    return (
        len(set(bare)) > 1
        and bare not in _WORDS
        and not _TEMPLATE.fullmatch(secret)
        and not _PORT.fullmatch(secret)
    )


def is_key_block(block: bytes) -> bool:
    """Return whether a key stands between BEGIN and END; programs that read keys name both only."""
    return _KEY.search(_MARKER.sub(b"", block)) is not None


CHECKS: Mapping[str, Callable[[bytes], bool]] = {
    "has_digit": has_digit,
    "is_key_block": is_key_block,
    "is_password": is_password,
}
