"""Streams to send, as numbered lines of a producer: files that grow, and sessions of OpenCode."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, ClassVar, Protocol

from loopscope_client.push.ledger import Progress
from loopscope_client.transcripts.lines import Mask, prepared, read_line
from loopscope_client.transcripts.long_lines import LINE_MAX, cut
from loopscope_client.transcripts.open_file import PACKED, opened

__all__ = ("LINE_MAX", "Batch", "FileSource", "Line", "LostLines", "Rewritten", "SessionSource", "Source")

BATCH_LINES, BATCH_BYTES = 500, 2 * 1024 * 1024  # of one request
TAIL = 4096  # bytes before the end of what was sent, by which a file is recognised


class LostLines(Exception):
    """A file no longer has lines that the server has: it was cut, and has nothing new."""


class Rewritten(Exception):
    """A file that was written anew: what was sent of it is no longer its beginning."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line as it is sent, and the mark of its text before it was masked or cut."""

    sent: bytes
    mark: bytes
    end: int  # the offset after it


@dataclass(frozen=True, slots=True)
class Batch:
    """The next lines, and the progress once they are acknowledged."""

    lines: list[bytes]
    end: Progress
    marks: list[bytes]


class Source(Protocol):
    """One stream of numbered lines that only grows, if it is not written anew."""

    is_snapshot: ClassVar[bool]  # what was sent of it may be replaced: that is no reason to say so

    @property
    def agent(self) -> str: ...

    @property
    def path(self) -> Path: ...

    @property
    def producer(self) -> str: ...

    def next(self, done: Progress, mask: Mask | None = None) -> Batch | None:
        """Return the lines after `done`; None if there are none. Raises Rewritten."""

    def every(self, mask: Mask | None = None) -> Iterator[Line]:
        """Yield all lines, from the beginning."""

    def ended(self, progress: Progress) -> Progress:
        """Return the progress with the fingerprint of what ends there."""

    def at_line(self, number: int) -> Progress:
        """Return the progress after `number` lines, found from the beginning."""


@dataclass(frozen=True, slots=True)
class FileSource:
    """A transcript; only lines that end are read."""

    is_snapshot: ClassVar[bool] = False
    agent: str
    path: Path
    producer: str
    head: bytes = b""  # a line that is sent before the first one; the file does not hold it
    _unpacked: list[BinaryIO] = field(default_factory=list, init=False, repr=False, compare=False)

    def next(self, done: Progress, mask: Mask | None = None) -> Batch | None:
        """Return the lines after `done`; None if there are none. Raises Rewritten or OSError."""
        lines: list[bytes] = []
        marks: list[bytes] = []
        offset, size = done.offset, 0
        with self._opened() as file:
            if file.seek(0, os.SEEK_END) < offset or (done.tail and _tail(file, offset) != done.tail):
                self._close()
                raise Rewritten
            file.seek(offset)
            if self.head and not offset and not done.lines:
                lines, marks = [self.head], [_mark(self.head)]
            while len(lines) < BATCH_LINES and size < BATCH_BYTES:
                raw = read_line(file)
                if raw is None or not raw.has_end:
                    break
                offset += raw.length
                for each in prepared(raw, mask):
                    lines.append(each.sent)
                    marks.append(_mark(each.text))
                    size += len(each.sent)
            tail = _tail(file, offset)
        if offset == done.offset:
            self._close()
            return None
        return Batch(lines, Progress(offset, done.lines + len(lines), tail), marks)

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        """Open the file; a packed one is unpacked once for all its batches."""
        if self.path.suffix == PACKED:
            if not self._unpacked:
                self._unpacked.append(opened(self.path))
            yield self._unpacked[0]
            return
        with opened(self.path) as file:
            yield file

    def _close(self) -> None:
        while self._unpacked:
            self._unpacked.pop().close()

    def every(self, mask: Mask | None = None) -> Iterator[Line]:
        """Yield all lines, from the beginning. Raises OSError."""
        if self.head:
            yield Line(self.head, _mark(self.head), 0)
        offset = 0
        with opened(self.path) as file:
            while (raw := read_line(file)) is not None and raw.has_end:
                offset += raw.length
                for each in prepared(raw, mask):
                    yield Line(each.sent, _mark(each.text), offset)

    def ended(self, progress: Progress) -> Progress:
        """Return the progress with the fingerprint of what ends there."""
        with opened(self.path) as file:
            return replace(progress, tail=_tail(file, progress.offset))

    def at_line(self, number: int) -> Progress:
        """Return the progress after `number` lines, found from the beginning."""
        lines, offset = int(bool(self.head) and number > 0), 0
        with opened(self.path) as file:
            while lines < number:
                raw = read_line(file)
                if raw is None or not raw.has_end:
                    break
                offset += raw.length
                lines += len(prepared(raw))
        return Progress(offset, lines)


@dataclass(frozen=True, slots=True)
class SessionSource:
    """A session of a store or document, which is read whole: it has no place to continue from."""

    is_snapshot: ClassVar[bool] = True
    agent: str
    path: Path
    producer: str
    lines: Sequence[bytes]

    def next(self, done: Progress, mask: Mask | None = None) -> Batch | None:
        """Return the lines after `done`; None if there are none. Raises Rewritten."""
        if done.offset > len(self.lines) or (done.tail and self._tail(done.offset) != done.tail):
            raise Rewritten
        raw = self.lines[done.offset : done.offset + BATCH_LINES]
        sent = [cut(mask(line) if mask else line) for line in raw]
        end = done.offset + len(raw)
        progress = Progress(end, done.lines + len(raw), self._tail(end))
        return Batch(sent, progress, [_mark(line) for line in raw]) if raw else None

    def every(self, mask: Mask | None = None) -> Iterator[Line]:
        """Yield all lines."""
        for number, line in enumerate(self.lines, 1):
            yield Line(cut(mask(line) if mask else line), _mark(line), number)

    def ended(self, progress: Progress) -> Progress:
        """Return the progress with the fingerprint of what ends there."""
        return replace(progress, tail=self._tail(progress.offset))

    def at_line(self, number: int) -> Progress:
        """Return the progress after `number` lines."""
        return Progress(number, number)

    def _tail(self, end: int) -> bytes:
        return _mark(self.lines[end - 1]) if 0 < end <= len(self.lines) else b""


def _mark(line: bytes) -> bytes:
    return hashlib.blake2b(line, digest_size=8).digest()


def _tail(file: BinaryIO, end: int) -> bytes:
    """Return the fingerprint of the last bytes before a place."""
    start = max(0, end - TAIL)
    file.seek(start)
    return hashlib.blake2b(file.read(end - start), digest_size=16).digest()
