"""The keys by which spans of different traces are read together.

A trace is read by itself, unless a span of it shares a key with another trace: the id of a response that two
instrumentations report, a tool call whose result another trace was sent, or the conversation of a runtime
that makes a trace of each call. Keys are short hashes: what a sender wrote may be long.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from recorder.core.formats.otlp.plan.tree import call_name
from recorder.core.formats.otlp.spans.digest import Digest

_CONVERSATIONS = frozenset(("gemini-cli", "codex"))  # runtimes whose conversations are many traces
_BUCKET_NS = 10_000_000_000  # spans of one call end at most so long after each other


def keys_of(digest: Digest) -> Iterator[str]:
    """Yield the keys of a span or log record."""
    if digest.kind == "noise":
        return
    if digest.session and (digest.runtime in _CONVERSATIONS or not digest.trace):
        yield _key("c", digest.session)
    if digest.is_log:
        return
    if digest.response:
        bucket = digest.end // _BUCKET_NS
        yield from (_key("r", f"{digest.response} {number}") for number in (bucket, bucket + 1))
    if not digest.parent and digest.kind == "model":
        for call_id in [each[0] for each in digest.calls] + [str(each[0]) for each in digest.results]:
            if call_id:
                yield _key("k", call_name(call_id))
    yield from _shapes(digest)


def home_of(digest: Digest) -> str:
    """Return the trace that a line is kept with; for a log record without one, a hash of its session."""
    return digest.trace or hashlib.blake2b(digest.session.encode(), digest_size=16).hexdigest()


def _shapes(digest: Digest) -> Iterator[str]:
    """Yield keys by model, tokens and time: for a client's span whose framework names no response."""
    if digest.kind != "model" or digest.usage is None or digest.provider not in ("", "anthropic"):
        return
    is_client = digest.runtime == "anthropic" and not digest.parent and not digest.has_text
    if is_client or not digest.response:
        bucket = digest.end // _BUCKET_NS
        for number in (bucket, bucket + 1) if is_client else (bucket,):
            tokens = f"{digest.usage['total_in']} {digest.usage['output']}"
            yield _key("s", f"{digest.service} {digest.model} {tokens} {number}")


def _key(kind: str, text: str) -> str:
    return f"{kind}{hashlib.blake2b(text.encode(errors='replace'), digest_size=16).hexdigest()}"
