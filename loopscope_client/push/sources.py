"""What there is to send, as numbered lines of a producer: files that grow, and sessions of OpenCode."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from loopscope_client.push.ledger import Progress
from loopscope_client.transcripts import opencode
from loopscope_client.transcripts.files import home, producer_name, transcripts

BATCH_LINES, BATCH_BYTES = 500, 2 * 1024 * 1024  # of one request
LINE_MAX = 4 * 1024 * 1024  # bytes; of a longer line its beginning is sent, which the server rejects alone


class LostLines(Exception):
    """A file no longer has lines that the server has: it was cut or written anew."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The next lines, and the progress once they are acknowledged."""

    lines: list[bytes]
    end: Progress


class Source(Protocol):
    """One stream of numbered lines that only grows."""

    @property
    def agent(self) -> str: ...

    @property
    def path(self) -> Path: ...

    @property
    def producer(self) -> str: ...

    def next(self, done: Progress) -> Batch | None:
        """Return the lines after `done`; None if there are none."""

    def at_line(self, number: int) -> Progress:
        """Return the progress after `number` lines, found from the beginning."""


@dataclass(frozen=True, slots=True)
class FileSource:
    """A transcript; only lines that end are read."""

    agent: str
    path: Path
    producer: str

    def next(self, done: Progress) -> Batch | None:
        """Return the lines after `done`; None if there are none. Raises LostLines or OSError."""
        lines: list[bytes] = []
        offset, size = done.offset, 0
        with self.path.open("rb") as file:
            if file.seek(0, os.SEEK_END) < offset:
                raise LostLines("the file is shorter than what was sent of it")
            file.seek(offset)
            while len(lines) < BATCH_LINES and size < BATCH_BYTES:
                line, length = _read_line(file)
                if not length:
                    break
                offset += length
                if line.strip():
                    lines.append(line)
                    size += len(line)
        return Batch(lines, Progress(offset, done.lines + len(lines))) if offset > done.offset else None

    def at_line(self, number: int) -> Progress:
        """Return the progress after `number` lines, found from the beginning."""
        offset = lines = 0
        with self.path.open("rb") as file:
            while lines < number:
                line, length = _read_line(file)
                if not length:
                    break
                offset += length
                lines += bool(line.strip())
        return Progress(offset, lines)


@dataclass(frozen=True, slots=True)
class SessionSource:
    """A session of OpenCode, read whole: its store has no place to continue from."""

    agent: str
    path: Path
    producer: str
    lines: list[bytes]

    def next(self, done: Progress) -> Batch | None:
        """Return the lines after `done`; None if there are none."""
        lines = self.lines[done.lines : done.lines + BATCH_LINES]
        end = done.lines + len(lines)
        return Batch(lines, Progress(end, end)) if lines else None

    def at_line(self, number: int) -> Progress:
        """Return the progress after `number` lines."""
        return Progress(number, number)


def sources(agent: str, folder: Path | None) -> Iterator[Source]:
    """Yield what an agent has written below a folder, by default its home; empty files are left out."""
    for path in transcripts(agent, folder or home(agent)):
        if agent == opencode.AGENT:
            yield from _sessions(path)
        elif first := _first_line(path):
            yield FileSource(agent, path, producer_name(agent, path.name, first))


def _sessions(path: Path) -> Iterator[Source]:
    store = opencode.opened(path)
    try:
        for session, lines in opencode.sessions(store):
            yield SessionSource(opencode.AGENT, path, opencode.session_producer(session), lines)
    except sqlite3.DatabaseError:
        return  # written at this moment, or no store: the next look tries again
    finally:
        store.close()


def _first_line(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            while True:
                line, length = _read_line(file)
                if not length or line.strip():
                    return line
    except OSError:
        return b""


def _read_line(file: BinaryIO) -> tuple[bytes, int]:
    """Return the next line without its end, and its length with it; (b"", 0) without a line that ends.

    What a short read returns without an end is the beginning of a line that is being written. Its rest may be
    there at the next read, so no read may follow: the line would be cut.
    """
    raw = file.readline(LINE_MAX + 2)
    length = len(raw)
    if length < LINE_MAX + 2 and not raw.endswith(b"\n"):
        return b"", 0
    rest = raw
    while rest and not rest.endswith(b"\n"):
        rest = file.readline(LINE_MAX)
        length += len(rest)
    if not rest.endswith(b"\n"):
        return b"", 0
    return raw.removesuffix(b"\n").removesuffix(b"\r"), length
