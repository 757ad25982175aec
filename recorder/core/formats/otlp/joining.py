"""The keys by which spans of different traces are read together.

A trace is read by itself, unless a span of it shares a key with another trace: the id of a response that
two instrumentations report, a tool call whose result another trace was sent, or whose server another trace
is of, or the conversation of a runtime that makes a trace of each call. Keys are short hashes: what a
sender wrote may be long.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from recorder.core.formats.otlp.plan.bare import WAIT_NS, answered, requested
from recorder.core.formats.otlp.plan.calls import SKEW_NS, is_client
from recorder.core.formats.otlp.plan.tool_calls import requests
from recorder.core.formats.otlp.spans.digest import Digest

_CONVERSATIONS = frozenset(("gemini-cli", "codex"))  # runtimes whose conversations are many traces
_MINUTE_NS = 60_000_000_000
_FAILED_NS = 10_000_000_000  # calls that failed in one outage are many
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
    if digest.kind == "tool" and not digest.is_log:
        yield from (_key("m", name) for name in requests.names_of(digest))
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

    The client's span lies inside the framework's time, and its output tokens may differ by one. A failed call
    has no tokens and is known by its time alone.
    """
    if digest.kind != "model":
        return
    about, is_root = f"{digest.service} {digest.model}", is_client(digest) and not digest.parent
    if digest.usage is None:
        windows = _minutes(digest, every_ns=_FAILED_NS) if digest.error else range(0)
        # In an outage the calls of clients alone are read together by when they began only.
        windows = windows[:1] if is_root else windows
        yield from (_key("s", f"{about} failed {window}") for window in windows)
        return
    is_other = digest.provider.lower() not in ("", "anthropic")
    if is_other or (digest.response and not is_root):
        return
    output = digest.usage["output"]
    for minute in _minutes(digest):
        for number in (output - 1, output, output + 1) if is_root else (output,):
            yield _key("s", f"{about} {digest.usage['total_in']} {number} {minute}")


def _minutes(digest: Digest, more_ns: int = 0, every_ns: int = _MINUTE_NS) -> range:
    """Return the minutes of a span's time, or other windows: spans that overlap have one in common."""
    first, last = digest.start // every_ns, (digest.end + more_ns) // every_ns
    return range(first, min(last + 1, first + _MINUTES))


def _key(kind: str, text: str) -> str:
    return f"{kind}{hashlib.blake2b(text.encode(errors='replace'), digest_size=16).hexdigest()}"
