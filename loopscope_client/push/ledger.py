"""The ledger: how far each transcript was acknowledged, and for which agents a person has agreed.

Invariant: an entry is written after the server's acknowledgement, so the ledger is never ahead of it. A crash
in between repeats lines that the server knows by their numbers. Cost: one fsynced transaction a request.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_TABLES = """
CREATE TABLE IF NOT EXISTS transcript (
    url TEXT, producer TEXT, path TEXT, offset INTEGER, lines INTEGER, PRIMARY KEY (url, producer));
CREATE TABLE IF NOT EXISTS consent (url TEXT, agent TEXT, at TEXT, PRIMARY KEY (url, agent));
"""


class LedgerInUse(Exception):
    """Another process sends with this ledger."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What was acknowledged of a transcript: bytes from its beginning, and lines that are not blank."""

    offset: int = 0
    lines: int = 0


class Ledger:
    """The ledger of one server's address. Not thread-safe."""

    def __init__(self, store: sqlite3.Connection, url: str) -> None:
        self._store, self._url = store, url

    def progress(self, producer: str) -> Progress:
        """Return what was acknowledged of a producer's lines."""
        row = self._store.execute(
            "SELECT offset, lines FROM transcript WHERE url = ? AND producer = ?", (self._url, producer)
        ).fetchone()
        return Progress(*row) if row else Progress()

    def acknowledge(self, producer: str, path: Path, progress: Progress) -> None:
        """Note an acknowledgement of the server, durably."""
        self._store.execute(
            "INSERT INTO transcript VALUES (?, ?, ?, ?, ?) ON CONFLICT (url, producer) "
            "DO UPDATE SET path = excluded.path, offset = excluded.offset, lines = excluded.lines",
            (self._url, producer, str(path), progress.offset, progress.lines),
        )

    def has_consent(self, agent: str) -> bool:
        """Return whether a person has agreed that an agent's transcripts are sent to this server."""
        found = self._store.execute("SELECT 1 FROM consent WHERE url = ? AND agent = ?", (self._url, agent))
        return found.fetchone() is not None

    def note_consent(self, agent: str) -> None:
        """Note that a person has agreed."""
        self._store.execute(
            "INSERT OR REPLACE INTO consent VALUES (?, ?, datetime('now'))", (self._url, agent)
        )


def default_folder() -> Path:
    """Return the folder of the ledger: LOOPSCOPE_PUSH_STATE, else below the user's state folder."""
    if named := os.environ.get("LOOPSCOPE_PUSH_STATE"):
        return Path(named)
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "loopscope"


@contextmanager
def opened(folder: Path, url: str) -> Iterator[Ledger]:
    """Open the ledger of a folder for this process alone. Raises LedgerInUse or OSError."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / "push.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LedgerInUse(str(folder)) from None
        store = sqlite3.connect(folder / "push.sqlite3", isolation_level=None)
        try:
            store.execute("PRAGMA synchronous = FULL")
            store.executescript(_TABLES)
            yield Ledger(store, url)
        finally:
            store.close()
