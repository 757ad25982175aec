"""A growing file of lines, followed through rotation and truncation, each line handed over once.

Which lines were handed over is not written down beside the file: their count is the spool's own, so a crash
between the two cannot lose or double a line.
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


class Following:
    """One file, by its path. `take` is asked again until it says that it has the line."""

    def __init__(
        self, path: Path, notes: Path, position: Callable[[], int], take: Callable[[bytes], None]
    ) -> None:
        self._path, self._notes, self._position, self._take = path, notes, position, take
        self._file: BinaryIO | None = None
        self._rest = b""
        self._is_noted = False

    def step(self) -> bool:
        """Hand over what is new; False when nothing was."""
        if self._file is None and not self._opened():
            return False
        assert self._file is not None
        moved = False
        for line in self._whole(self._file):
            self._hand(line)
            moved = True
        return self._followed() or moved

    def finish(self) -> None:
        """The file will not grow: what stands after its last line break is a line too."""
        rest, self._rest = self._rest, b""
        self._hand(rest)
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
        """Pass over the lines that were handed over, if this is the file that was followed last."""
        self._is_noted = False
        noted = _noted(self._notes)
        head = _head(file)
        if noted is None or head is None or noted.get("file") != [os.fstat(file.fileno()).st_ino, head]:
            return
        first = noted.get("first")
        left = self._position() - first if isinstance(first, int) else 0
        while left > 0:
            line = file.readline()
            if not line:  # it is shorter than what was read of it: another file that begins alike
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

    def _hand(self, line: bytes) -> None:
        line = line.strip()
        if not line:
            return
        if not self._is_noted:
            self._note()
        self._take(line)

    def _note(self) -> None:
        """Write down which file begins at this position, before its first line is handed over."""
        if self._file is not None:
            said = {
                "file": [os.fstat(self._file.fileno()).st_ino, _head(self._file)],
                "first": self._position(),
            }
            fresh = self._notes.with_suffix(".new")
            fresh.write_text(json.dumps(said))
            fresh.replace(self._notes)
        self._is_noted = True

    def _followed(self) -> bool:
        """Turn to the file that the path names now, if it is another one or was emptied."""
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
    """Return what tells a file apart: its first line; None while that is not whole."""
    at = file.tell()
    file.seek(0)
    line = file.readline(4096)
    file.seek(at)
    whole = line.endswith(b"\n") or len(line) == 4096
    return hashlib.sha256(line).hexdigest() if whole else None


def _noted(notes: Path) -> dict[str, object] | None:
    with suppress(OSError, ValueError):
        said = json.loads(notes.read_bytes())
        return said if isinstance(said, dict) else None
    return None
