"""Content encodings of a body: what gzip, deflate and zstd hold, decoded within bounds.

zstd needs Python 3.14 or the package `zstandard` (`loopscope[zstd]`).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, cast

from loopscope_client.transcripts.open_file import zstd_module
from recorder.ingest.http.response import Fault
from recorder.ingest.limits.decoding import Hold, uncounted

ZSTD = "zstd"
_WINDOWS = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}  # of zlib
CHUNK = 64 * 1024  # gzip is inflated by so many bytes: what follows a member is copied, and a chunk at most
# Of zstd: the package `zstandard` takes no limit of what it returns. 4 bytes hold a block of 128 KiB, so that
# these return 4 MiB at most.
ZSTD_CHUNK = 128
ZSTD_WINDOW_LOG = 23  # 8 MiB, the most that RFC 9659 allows
MEMBERS = 64  # of one gzip body, frames of zstd; each costs an inflater of 40 kB
RATIO = 250  # an inflated body is at most so many times longer than it was sent,
RATIO_FROM = 1024 * 1024  # if it is longer than this


class _Member(Protocol):
    """The decoder of one member."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class _Decoder:
    """How to decode an encoding: a function that begins a member, its error, bytes to decode at once."""

    name: str
    begin: Callable[[], _Member]
    error: type[Exception]
    chunk: int = CHUNK
    window: int = 0  # bytes that it holds beside what it returns


def encodings() -> tuple[str, ...]:
    """Return the names of the encodings that this Python decodes."""
    return (*_WINDOWS, *((ZSTD,) if zstd_module() is not None else ()))


def inflated(body: bytes, limit: int, hold: Hold = uncounted, encoding: str = "gzip") -> bytes:
    """Return what a body of one of `encodings` holds, in time linear to the bytes sent and returned.

    `hold` is called with the size of each part.

    Raises:
        Fault: 413 for more than `limit` bytes or a ratio above `RATIO`; 400 for more than `MEMBERS` members
            or a body that is not so encoded.
    """
    limit = min(limit, max(RATIO_FROM, RATIO * len(body)))
    decoder = _decoder(encoding)
    hold(decoder.window)
    parts: list[bytes] = []
    left, members, member = limit + 1, 1, decoder.begin()
    for start in range(0, len(body), decoder.chunk):
        rest = body[start : start + decoder.chunk]
        while rest:
            if member.eof:
                members, member = members + 1, decoder.begin()
            if members > MEMBERS:
                raise Fault(400, "bad_encoding", f"a {encoding} body has at most {MEMBERS} members")
            try:
                parts.append(member.decompress(rest, left))
            except decoder.error:
                raise Fault(400, "bad_encoding", f"the body is not {decoder.name}") from None
            hold(len(parts[-1]))
            left -= len(parts[-1])
            if left <= 0:  # else all of `rest` was read, or its member ended
                raise Fault(413, "too_large", f"this body may have at most {limit} bytes after {encoding}")
            rest = member.unused_data
    if body and not member.eof:
        raise Fault(400, "bad_encoding", f"the {encoding} body ends too early")
    return b"".join(parts)


def _decoder(encoding: str) -> _Decoder:
    if encoding != ZSTD:
        return _Decoder(encoding, partial(zlib.decompressobj, _WINDOWS[encoding]), zlib.error)
    module = zstd_module()
    begin = partial(_Frame, module) if module.__name__ == "zstandard" else partial(_frame, module)
    name = "zstd with a window of at most 8 MiB"
    return _Decoder(name, begin, module.ZstdError, ZSTD_CHUNK, 1 << ZSTD_WINDOW_LOG)


def _frame(module: Any) -> _Member:
    """Begin a frame with Python's own module."""
    most = {module.DecompressionParameter.window_log_max: ZSTD_WINDOW_LOG}
    return cast("_Member", module.ZstdDecompressor(options=most))


class _Frame:
    """A frame that the package `zstandard` decodes, which returns all that its input holds."""

    def __init__(self, module: Any) -> None:
        self._inner = module.ZstdDecompressor(max_window_size=1 << ZSTD_WINDOW_LOG).decompressobj()

    @property
    def eof(self) -> bool:
        return bool(self._inner.eof)

    @property
    def unused_data(self) -> bytes:
        return cast("bytes", self._inner.unused_data)

    def decompress(self, data: bytes, _max_length: int, /) -> bytes:
        return cast("bytes", self._inner.decompress(data))
