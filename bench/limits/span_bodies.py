"""Bodies of spans that hold as many of the smallest fields as fit, in protobuf and JSON."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable

MIB = 1024 * 1024
FULL = 15 * MIB  # inflated
PADDING = 66_000  # random bytes, so that gzip makes no more of it than is allowed
FRAMES = 2_000
IDS = b"\x0a\x10" + b"\x01" * 16 + b"\x12\x08" + b"\x02" * 8
PAIR = b"\x4a\x08\x0a\x01a\x12\x03\x0a\x01b"

Body = Callable[[float], bytes]


def field(number: int, content: bytes) -> bytes:
    """Return a field of a protobuf message."""
    size, length = bytearray(), len(content)
    while length > 0x7F:
        size.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes([number << 3 | 2, *size, length]) + content


def packed(body: bytes) -> bytes:
    """Return a body within gzip, with random bytes at its end; those of JSON are blanks and tabs."""
    if body.startswith(b"{"):
        noise = os.urandom(8 * PADDING).translate(bytes(b" \t"[byte & 1] for byte in range(256)))
        return gzip.compress(body + noise)
    return gzip.compress(body + field(15, os.urandom(PADDING)))


def _in_spans(spans: bytes) -> bytes:
    return field(1, field(2, spans))


def _agents_below_frames(share: float) -> bytes:
    """Return spans in one trace: each other one is an agent, below the last of a chain of frames."""
    number = int(FRAMES * share)
    trace = number.to_bytes(16)
    chain = [_span(trace, at + 1, at) for at in range(number)]
    agent = field(9, field(1, b"gen_ai.operation.name") + field(2, field(1, b"invoke_agent")))
    agents = [_span(trace, number + at + 1, number, agent) for at in range(number)]
    return _in_spans(b"".join([*chain, *agents]))


def _span(trace: bytes, key: int, parent: int, attributes: bytes = b"") -> bytes:
    ids = field(1, trace) + field(2, key.to_bytes(8))
    times = b"\x39" + (10**18 + key).to_bytes(8, "little") + b"\x41" + (2 * 10**18).to_bytes(8, "little")
    return field(2, ids + (field(4, parent.to_bytes(8)) if parent else b"") + times + attributes)


def _filled(start: str, part: str, end: str, most: int) -> Body:
    return lambda share: (start + part * int(most * share) + end).encode()


PROTOBUF: dict[str, Body] = {
    "8,000,000 empty spans": lambda share: _in_spans(b"\x12\x00" * int(FULL / 2 * share)),
    "empty scopes": lambda share: field(1, b"\x12\x00" * int(FULL / 2 * share)),
    "empty resources": lambda share: b"\x0a\x00" * int(FULL / 2 * share),
    "attributes of one span": lambda share: _in_spans(
        field(2, IDS + b"\x4a\x04\x0a\x00\x12\x00" * int(FULL / 6 * share))
    ),
    "attributes of many spans": lambda share: _in_spans(
        field(2, IDS + b"\x4a\x00" * 36_000) * int(FULL / 72_000 * share)
    ),
    "values of an array": lambda share: _in_spans(
        field(2, IDS + field(9, field(2, field(5, b"\x0a\x00" * int(FULL / 2 * share)))))
    ),
    "agents below a chain of frames": _agents_below_frames,
    "as many attributes as allowed": lambda share: _in_spans(
        field(2, IDS + PAIR * 27_000) * max(1, int(4 * share))
    ),
}
JSON: dict[str, Body] = {
    "empty resources": _filled('{"resourceSpans":[', "{},", "{}]}", FULL // 3),
    "empty spans": _filled('{"resourceSpans":[{"scopeSpans":[{"spans":[', "{},", "{}]}]}]}", FULL // 3),
    "as many values as allowed": _filled('{"resourceSpans":[', '{"a":1},', "{}]}", 164_000),
}
