"""Follower of a growing file: each line is forwarded once, through rotation and truncation.

The position in the file is not stored: it is the number of lines in the spool, so that a crash between the
two can neither lose nor repeat a line. A note beside the spool says at which position the file began.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

LONGEST = 16 * 1024 * 1024


class FileFollower:
    """Follows one path. `take` forwards a line and returns once the spool has it."""

    def __init__(
        self, path: Path, notes: Path, position: Callable[[], int], take: Callable[[bytes], None]
    ) -> None:
        self._path, self._notes, self._position, self._take = path, notes, position, take
        self._file: BinaryIO | None = None
        self._rest = b""
        self._is_noted = False

    def step(self) -> bool:
        """Forward the lines that are new; return whether there were any, or another file."""
        if self._file is None and not self._opened():
            return False
        assert self._file is not None
        moved = False
        for line in self._whole(self._file):
            self._forward(line)
            moved = True
        return self._followed() or moved

    def finish(self) -> None:
        """Forward the text after the last line break as a line and close: the file will not grow."""
        rest, self._rest = self._rest, b""
        self._forward(rest)
        self.close()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _opened(self) -> bool:
        try:
            self._file = self._path.open("rb")
        except FileNotFoundError:
            return False
        self._rest = b""
        self._skip(self._file)
        return True

    def _skip(self, file: BinaryIO) -> None:
        """Skip the lines that were forwarded, if this is the file that was followed last."""
        self._is_noted = False
        noted = _noted(self._notes)
        head = _head(file)
        if noted is None or head is None or noted.get("file") != [os.fstat(file.fileno()).st_ino, head]:
            return
        first = noted.get("first")
        left = self._position() - first if isinstance(first, int) else 0
        while left > 0:
            line = file.readline()
            if not line:  # shorter than what was read: another file with the same first line
                file.seek(0)
                return
            left -= bool(line.strip())
        self._is_noted = True

    def _whole(self, file: BinaryIO) -> Iterator[bytes]:
        while read := file.readline(LONGEST):
            self._rest = (self._rest + read)[:LONGEST]
            if read.endswith(b"\n"):
                line, self._rest = self._rest, b""
                yield line

    def _forward(self, line: bytes) -> None:
        line = line.strip()
        if not line:
            return
        if not self._is_noted:
            self._note()
        self._take(line)

    def _note(self) -> None:
        """Store which file begins at this position, before its first line is forwarded."""
        if self._file is not None:
            note = {
                "file": [os.fstat(self._file.fileno()).st_ino, _head(self._file)],
                "first": self._position(),
            }
            fresh = self._notes.with_suffix(".new")
            fresh.write_text(json.dumps(note))
            fresh.replace(self._notes)
        self._is_noted = True

    def _followed(self) -> bool:
        """Switch to the file that the path names now, if it is another one or was truncated."""
        assert self._file is not None
        mine = os.fstat(self._file.fileno())
        try:
            now = self._path.stat()
        except FileNotFoundError:
            return False
        if (now.st_dev, now.st_ino) != (mine.st_dev, mine.st_ino):
            self.finish()
            return True
        if now.st_size < self._file.tell():
            self.close()
            return True
        return False


def _head(file: BinaryIO) -> str | None:
    """Return the hash of the first line, which identifies a file; None while the line is incomplete."""
    at = file.tell()
    file.seek(0)
    line = file.readline(4096)
    file.seek(at)
    whole = line.endswith(b"\n") or len(line) == 4096
    return hashlib.sha256(line).hexdigest() if whole else None


def _noted(notes: Path) -> dict[str, object] | None:
    with suppress(OSError, ValueError):
        note = json.loads(notes.read_bytes())
        return note if isinstance(note, dict) else None
    return None
