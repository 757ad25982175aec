"""Reads a gzip file of an import in time linear to its size, within bounds on members and ratio.

The gzip module has no bounds: 20 bytes may be a member, and one byte a thousand. Beyond a bound the file is
refused; it can be imported decompressed.
"""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from loopscope_client.transcripts import open_file

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MEMBERS, MEMBER_BYTES = 64, 1024  # so many members of any size; of more, their mean compressed size
RATIO, RATIO_FROM = 250, 64 * 1024 * 1024  # of inflated to compressed bytes, above so many inflated bytes
CHUNK = 16 * 1024  # given to zlib at once: what follows a member is copied, and a chunk at most
_GZIP = 16 + zlib.MAX_WBITS
_MAGIC = b"\x1f\x8b"  # begins a gzip file


class OverBoundError(gzip.BadGzipFile):
    """A file that would inflate to more, or has more members, than is allowed."""


def open_gzip(path: Path) -> BinaryIO:
    """Open a gzip file. Reading raises EOFError, zlib.error or OverBoundError."""
    return cast("BinaryIO", io.BufferedReader(_Inflated(path), 4 * CHUNK))


def opened(path: Path) -> BinaryIO:
    """Open a file for reading, decompressed if it is gzip, whatever its name, or zstd. Raises OSError."""
    file = open_file.opened(path)
    is_packed = file.read(2) == _MAGIC
    if is_packed:
        file.close()
        return open_gzip(path)
    file.seek(0)
    return file


class _Inflated(io.RawIOBase):
    """The content of a gzip file."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._member = zlib.decompressobj(_GZIP)
        self._members = 1
        self._pending = b""  # bytes of the file that were read and not inflated
        self._compressed = self._inflated = 0  # bytes read from the file, and returned

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def readinto(self, buffer: WriteableBuffer) -> int:
        target = memoryview(buffer).cast("B")
        while not self._has_ended():
            # A member that has begun has a trailer, so input is never used up before the output is complete.
            compressed = self._pending or self._read()
            if not compressed:
                raise EOFError("the file ends before the end of its compressed data")
            if part := self._inflate(compressed, len(target)):
                target[: len(part)] = part
                return len(part)
        return 0

    def _read(self) -> bytes:
        part = self._file.read(CHUNK)
        self._compressed += len(part)
        return part

    def _inflate(self, compressed: bytes, most: int) -> bytes:
        part = self._member.decompress(compressed, most)
        self._pending = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
        self._inflated += len(part)
        if self._inflated > max(RATIO_FROM, RATIO * self._compressed):
            raise OverBoundError(f"it inflates to more than {RATIO} times its size")
        return part

    def _has_ended(self) -> bool:
        """Return whether nothing follows the last member; else have the next one begun, if need be."""
        if not self._member.eof:
            return False
        self._pending = self._pending.lstrip(b"\0")  # tools pad files with zeros
        while not self._pending:
            part = self._read()
            if not part:
                return True
            self._pending = part.lstrip(b"\0")
        self._members += 1
        if self._members > MEMBERS + self._compressed // MEMBER_BYTES:
            raise OverBoundError(f"it has more than {MEMBERS} members of less than {MEMBER_BYTES} bytes")
        self._member = zlib.decompressobj(_GZIP)
        return False
