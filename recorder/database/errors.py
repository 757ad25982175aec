"""Errors of the store: Busy passes and the sender tries again; StoreError ends the process."""

from __future__ import annotations

import errno
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from django.db import DatabaseError, InterfaceError, OperationalError, connection

BusyCode = Literal["busy", "disk_full", "rate_limited", "draining"]
STORE_ERRORS = (DatabaseError, InterfaceError)
LOW_BYTES = 4 * 1024 * 1024
RETRY_MS, FULL_RETRY_MS = 1_000, 10_000
DAMAGED, NOT_A_DATABASE = "SQLITE_CORRUPT", "SQLITE_NOTADB"
UNSYNCED = ("SQLITE_IOERR_FSYNC", "SQLITE_IOERR_DIR_FSYNC")
PG_DISK_FULL = "53100"
PG_TOO_MUCH = "54"  # of columns, of an index row: the statement is at fault and always fails


class Busy(Exception):
    """The store cannot take anything now. Nothing is stored; try again later."""

    def __init__(self, code: BusyCode, retry_after_ms: int = 1000) -> None:
        super().__init__(code)
        self.code: BusyCode = code
        self.retry_after_ms = retry_after_ms


class StoreError(Exception):
    """Nothing more may be acknowledged: the process ends and says why."""


class DamageReports:
    """Reports of damage by SQLite, which reports a read that failed in the middle of a statement so, too.

    One report passes as a failed read does. A file that is damaged is reported again: `REPEATED_S` seconds
    after the first report or later, another one is believed. After `FORGOTTEN_S` the next is a first one.
    """

    REPEATED_S, FORGOTTEN_S = 2.0, 60.0

    def __init__(self) -> None:
        self._first: float | None = None
        self._lock = threading.Lock()

    def is_repeated(self, now: float) -> bool:
        """Return whether a report at `now` is believed; `now` is in seconds of a monotonic clock."""
        with self._lock:
            if self._first is None or now - self._first > self.FORGOTTEN_S:
                self._first = now
            return now - self._first >= self.REPEATED_S


DAMAGE = DamageReports()


class Syncs:
    """The failure of a commit's sync, in whichever thread. The server ends there and then."""

    def __init__(self) -> None:
        self.when_failed: Callable[[str], None] = lambda _: None  # a command ends by the exception

    def note(self, error: Exception) -> None:
        """Take a failure of the driver; not every caller of a commit lets its exception through."""
        if getattr(error, "sqlite_errorname", "") in UNSYNCED:
            self.when_failed(_unsynced(error))


SYNCS = Syncs()


def raise_as_store_error(error: Exception) -> None:
    """Raise Busy or StoreError if `error` is the store's fault; if it is ours, return."""
    name = _sqlite_name(error)
    if name == NOT_A_DATABASE or (name.startswith(DAMAGED) and DAMAGE.is_repeated(time.monotonic())):
        raise StoreError(damage_remedy(str(error))) from error
    if name in UNSYNCED:
        raise StoreError(_unsynced(error)) from error
    is_temporary = isinstance(error, InterfaceError) or name.startswith(DAMAGED)
    if is_temporary or (isinstance(error, OperationalError) and not _is_ours(error)):
        raise busy(error) from error


def as_busy(error: Exception) -> Busy | None:
    """Return the Busy to report to a reader, None if `error` is not an unavailable store."""
    try:
        if isinstance(error, STORE_ERRORS):
            raise_as_store_error(error)
    except Busy as busy:
        return busy
    except StoreError:
        return None
    return None


def busy(error: Exception) -> Busy:
    """Say why the database refused; SQLite calls a full disk an I/O error as often as full."""
    name, cause = _sqlite_name(error), error.__cause__
    is_full = name == "SQLITE_FULL" or getattr(cause, "sqlstate", "") == PG_DISK_FULL
    is_full = is_full or getattr(cause, "errno", 0) == errno.ENOSPC
    if is_full or (name.startswith(("SQLITE_IOERR", "SQLITE_CANTOPEN")) and _is_disk_full()):
        return Busy("disk_full", FULL_RETRY_MS)
    return Busy("busy", RETRY_MS)


def damage_remedy(found: str) -> str:
    """Return what to do about a damaged database."""
    path = _database()
    return (
        f"The database {path} is damaged: {found}. Nothing was deleted. Put a backup in its place, or rescue "
        f'what can be read with: sqlite3 "{path}" .recover | sqlite3 rescued.sqlite3 - and start again.'
    )


def _unsynced(error: Exception) -> str:
    """Say what to do. The system has dropped the pages by now: a second sync would prove nothing."""
    return (
        f"The disk did not keep what was written to {_database()} ({error}). Check the disk, then start "
        "again: what was acknowledged is there, and senders send the rest again."
    )


def _is_ours(error: OperationalError) -> bool:
    """Say whether the statement itself is wrong; a table that is missing waits for its migration."""
    if str(getattr(error.__cause__, "sqlstate", None) or "").startswith(PG_TOO_MUCH):
        return True
    return _sqlite_name(error) == "SQLITE_ERROR" and not str(error).startswith("no such")


def _sqlite_name(error: Exception) -> str:
    return str(getattr(error.__cause__, "sqlite_errorname", ""))


def _database() -> Path:
    return Path(str(connection.settings_dict["NAME"]))


def _is_disk_full() -> bool:
    folder = _database().parent
    return folder.exists() and shutil.disk_usage(folder).free < LOW_BYTES
