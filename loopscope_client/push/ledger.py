"""The ledger: how far each transcript was acknowledged, and for which agents a person has agreed.

Invariant: an entry is written after the server's acknowledgement, so the ledger is never ahead of it. A crash
in between repeats lines that the server knows by their numbers. Cost: one fsynced transaction a request, and
about 20 bytes a line: the mark by which a line is recognised when its file is written anew.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

_TABLES = """
CREATE TABLE IF NOT EXISTS transcript (
    url TEXT, producer TEXT, path TEXT, offset INTEGER, lines INTEGER, PRIMARY KEY (url, producer));
CREATE TABLE IF NOT EXISTS line (
    transcript INTEGER, number INTEGER, mark BLOB, PRIMARY KEY (transcript, number)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS agreement (
    url TEXT, token TEXT, agent TEXT, home TEXT, at TEXT, PRIMARY KEY (url, token, agent, home));
"""
_COLUMNS = ("tail BLOB", "is_anew INTEGER")  # columns that the first ledgers did not have


class LedgerInUse(Exception):
    """Another process sends with this ledger."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The acknowledged part of a transcript: bytes from its beginning, and lines that are not blank."""

    offset: int = 0
    lines: int = 0
    tail: bytes = field(default=b"", compare=False)  # fingerprint of what ends at `offset`; b"": unknown
    is_anew: bool = field(default=False, compare=False)  # the file was written anew and is not compared yet


class Ledger:
    """The ledger of one server's address. Not thread-safe."""

    def __init__(self, store: sqlite3.Connection, url: str) -> None:
        self._store, self._url = store, url

    def progress(self, producer: str) -> Progress:
        """Return what was acknowledged of a producer's lines."""
        row = self._store.execute(
            "SELECT offset, lines, tail, is_anew FROM transcript WHERE url = ? AND producer = ?",
            (self._url, producer),
        ).fetchone()
        return Progress(row[0], row[1], row[2] or b"", bool(row[3])) if row else Progress()

    def acknowledge(self, producer: str, path: Path, progress: Progress, marks: Sequence[bytes] = ()) -> None:
        """Note an acknowledgement of the server, durably; `marks` are those of the last lines."""
        self._store.execute("BEGIN IMMEDIATE")
        self._store.execute(
            "INSERT INTO transcript (url, producer, path, offset, lines, tail, is_anew) "
            "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (url, producer) DO UPDATE SET path = excluded.path, "
            "offset = excluded.offset, lines = excluded.lines, tail = excluded.tail, "
            "is_anew = excluded.is_anew",
            (self._url, producer, os.fsencode(path), progress.offset, progress.lines, progress.tail,
             progress.is_anew),
        )  # fmt: skip
        key, first = self._key(producer), progress.lines - len(marks)
        self._store.executemany(
            "INSERT OR REPLACE INTO line VALUES (?, ?, ?)",
            ((key, number, mark) for number, mark in enumerate(marks, first)),
        )
        self._store.execute("DELETE FROM line WHERE transcript = ? AND number >= ?", (key, progress.lines))
        self._store.execute("COMMIT")

    def marks(self, producer: str, lines: int) -> list[bytes]:
        """Return the marks of the first lines that were acknowledged; of a first ledger some are missing."""
        rows = self._store.execute(
            "SELECT mark FROM line WHERE transcript = ? AND number < ?", (self._key(producer), lines)
        )
        return [mark for (mark,) in rows]

    def has_consent(self, agent: str, home: Path | None = None, token: str = "") -> bool:
        """Return whether a person has agreed that an agent's transcripts are sent to this server.

        The consent is for one folder, and for the project of one token.
        """
        query = "SELECT 1 FROM agreement WHERE url = ? AND token = ? AND agent = ? AND home = ?"
        return self._store.execute(query, self._consent(agent, home, token)).fetchone() is not None

    def note_consent(self, agent: str, home: Path | None = None, token: str = "") -> None:
        """Note that a person has agreed."""
        self._store.execute(
            "INSERT OR REPLACE INTO agreement VALUES (?, ?, ?, ?, datetime('now'))",
            self._consent(agent, home, token),
        )

    def _consent(self, agent: str, home: Path | None, token: str) -> tuple[str, str, str, bytes]:
        place = b"" if home is None else os.fsencode(home.absolute())
        return self._url, hashlib.sha256(token.encode(errors="replace")).hexdigest()[:32], agent, place

    def _key(self, producer: str) -> int:
        row = self._store.execute(
            "SELECT rowid FROM transcript WHERE url = ? AND producer = ?", (self._url, producer)
        ).fetchone()
        return int(row[0]) if row else -1


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
    with os.fdopen(_private(folder / "push.lock"), "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LedgerInUse(str(folder)) from None
        os.close(_private(folder / "push.sqlite3"))
        store = sqlite3.connect(folder / "push.sqlite3", isolation_level=None)
        try:
            store.execute("PRAGMA synchronous = FULL")
            store.executescript(_TABLES)
            _add_columns(store)
            yield Ledger(store, url)
        finally:
            store.close()


def _private(path: Path) -> int:
    """Open a file of this user alone, which must be no symbolic link. Raises OSError."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    os.fchmod(file, 0o600)
    return file


def _add_columns(store: sqlite3.Connection) -> None:
    have = {row[1] for row in store.execute("SELECT * FROM pragma_table_info('transcript')")}
    for column in _COLUMNS:
        if column.partition(" ")[0] not in have:
            store.execute(f"ALTER TABLE transcript ADD COLUMN {column}")
