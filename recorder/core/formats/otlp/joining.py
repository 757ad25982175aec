"""The keys by which spans of different traces are read together.

A trace is read by itself, unless a span of it shares a key with another trace: the id of a response that two
instrumentations report, a tool call whose result another trace was sent, or the conversation of a runtime
that makes a trace of each call. Keys are short hashes: what a sender wrote may be long.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from recorder.core.formats.otlp.plan.bare import WAIT_NS, answered, requested
from recorder.core.formats.otlp.plan.calls import SKEW_NS
from recorder.core.formats.otlp.spans.digest import Digest

_CONVERSATIONS = frozenset(("gemini-cli", "codex"))  # runtimes whose conversations are many traces
_MINUTE_NS = 60_000_000_000
_MINUTES = 60  # of a span that have a key each: of a longer one the first


def keys_of(digest: Digest) -> Iterator[str]:
    """Yield the keys of a span or log record."""
    if digest.kind == "noise":
        return
    if digest.session and (digest.runtime in _CONVERSATIONS or not digest.trace):
        yield _key("c", digest.session)
    if digest.is_log and not digest.has_text:
        return
    if digest.response and not digest.is_log:
        about = f"{digest.service} {digest.response}"
        yield from (_key("r", f"{about} {minute}") for minute in _minutes(digest, SKEW_NS))
    if not digest.parent and (digest.kind == "model" or digest.is_log):
        yield from _tool_calls(digest)
    yield from _shapes(digest)


def home_of(digest: Digest) -> str:
    """Return the trace that a line is kept with, or what stands for it in a log record without one."""
    return digest.home


def _tool_calls(digest: Digest) -> Iterator[str]:
    """Yield keys by the tool calls of an answer and the results that a call was sent: see `plan.bare`."""
    ends, begins = digest.end // WAIT_NS, digest.start // WAIT_NS
    for name in sorted(set(requested(digest))):
        yield from (_key("k", f"{name} {number}") for number in (ends, ends + 1))
    yield from (_key("k", f"{name} {begins}") for name in sorted(set(answered(digest))))


def _shapes(digest: Digest) -> Iterator[str]:
    """Yield keys by model, tokens and time: for a client's span whose framework names no response.

    The client's span lies inside the framework's time, and its output tokens may differ by one.
    """
    if digest.kind != "model" or digest.provider.lower() not in ("", "anthropic"):
        return
    if digest.usage is None and not digest.error:  # a failed call has no tokens
        return
    is_client = digest.runtime == "anthropic" and not digest.parent and not digest.has_text
    if not is_client and digest.response:
        return
    about = f"{digest.service} {digest.model}"
    for minute in _minutes(digest):
        if digest.usage is None:
            yield _key("s", f"{about} failed {minute}")
            continue
        output = digest.usage["output"]
        for number in (output - 1, output, output + 1) if is_client else (output,):
            yield _key("s", f"{about} {digest.usage['total_in']} {number} {minute}")


def _minutes(digest: Digest, more_ns: int = 0) -> range:
    """Return the minutes of a span's time: spans that overlap have one in common."""
    first, last = digest.start // _MINUTE_NS, (digest.end + more_ns) // _MINUTE_NS
    return range(first, min(last + 1, first + _MINUTES))


def _key(kind: str, text: str) -> str:
    return f"{kind}{hashlib.blake2b(text.encode(errors='replace'), digest_size=16).hexdigest()}"
