"""A check that the SQLite file which this process opened is still the one at its path.

A process keeps writing to a file that somebody deleted or replaced, and every commit succeeds: what it
acknowledges is gone when it ends. So a server compares the file at the path with the one it began with before
each acknowledgement, and the write-ahead log with the one that the connection had after its last commit. Two
calls of `stat` cost some microseconds.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from django.db import connection

Identity = tuple[int, int]  # device and inode


class Presence:
    """The file of the database, from the first `loss` that found it."""

    def __init__(self) -> None:
        self._begun: Identity | None = None
        self._log: Identity | None = None
        self._log_of: sqlite3.Connection | None = None  # the connection that has it open

    def loss(self) -> str | None:
        """Return what to do if the file or its log was deleted or replaced, else None."""
        if connection.vendor != "sqlite":
            return None
        path = Path(str(connection.settings_dict["NAME"]))
        now = _identity(path)
        if self._begun is None:
            self._begun = now
        if self._begun is not None and now != self._begun:
            return _remedy(path)
        return _remedy(_log_at(path)) if self._has_lost_log(path) else None

    def committed(self) -> None:
        """Note the log of the connection that has just committed: it stays while that is open."""
        if connection.vendor == "sqlite" and connection.connection is not self._log_of:
            self._log_of = connection.connection  # None after an error: then the log may be deleted rightly
            path = Path(str(connection.settings_dict["NAME"]))
            self._log = None if self._log_of is None else _identity(_log_at(path))

    def _has_lost_log(self, path: Path) -> bool:
        is_open = self._log is not None and connection.connection is self._log_of
        return is_open and _identity(_log_at(path)) != self._log


def _log_at(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _identity(path: Path) -> Identity | None:
    """Return what distinguishes a file from others; None if none is there."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _remedy(path: Path) -> str:
    return (
        f"{path} was deleted or replaced while Loopscope ran, so nothing more is acknowledged. Put the file "
        "or a backup in its place, then start again: senders send again what was not acknowledged."
    )
