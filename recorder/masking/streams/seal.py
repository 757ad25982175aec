"""Encrypts what is kept of an open stream, so that the database holds no part of a secret in clear text.

The key stream is SHAKE-256 of key and nonce; a keyed BLAKE2 hash identifies the key of today.
"""

from __future__ import annotations

import hmac
import os
from hashlib import blake2b, shake_256

NONCE, CHECK = 16, 16


def seal(content: bytes, key: bytes) -> bytes:
    """Return a text encrypted with a key of 32 bytes; two of the same text differ."""
    nonce = os.urandom(NONCE)
    hidden = nonce + _xor(content, key, nonce)
    return _check(hidden, key) + hidden


def unseal(sealed: bytes, key: bytes) -> bytes | None:
    """Return the text, None if it was encrypted with another key or changed."""
    check, hidden = sealed[:CHECK], sealed[CHECK:]
    if not hmac.compare_digest(check, _check(hidden, key)):
        return None
    return _xor(hidden[NONCE:], key, hidden[:NONCE])


def _xor(content: bytes, key: bytes, nonce: bytes) -> bytes:
    size = len(content)
    stream = shake_256(key + nonce).digest(size)
    return (int.from_bytes(content, "big") ^ int.from_bytes(stream, "big")).to_bytes(size, "big")


def _check(hidden: bytes, key: bytes) -> bytes:
    return blake2b(hidden, key=key, digest_size=CHECK).digest()
