"""The marks stored for each received span of a trace: its id and the fingerprint of its line."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from recorder.core.formats.otlp.spans.digest import Digest

SEEN = 14  # bytes for each span of a trace: its id and a fingerprint
SEEN_MAX = 20_000  # spans of a trace that are known as received; of older ones a copy is stored again


def mark_of(digest: Digest) -> bytes:
    """Return the 8 bytes by which a span is known within its trace; a log record is known by its content."""
    if digest.is_log:
        return hashlib.blake2b(digest.print.encode(), digest_size=8).digest()
    return bytes.fromhex(digest.id)


def packed(seen: Mapping[bytes, bytes]) -> bytes:
    """Return fingerprints by mark as they are stored, of the newest `SEEN_MAX`."""
    return b"".join(mark + fingerprint for mark, fingerprint in [*seen.items()][-SEEN_MAX:])


def unpacked(seen: bytes) -> dict[bytes, bytes]:
    """Return the fingerprints by mark of what is stored."""
    return {seen[at : at + 8]: seen[at + 8 : at + SEEN] for at in range(0, len(seen), SEEN)}
