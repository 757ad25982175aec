"""SQLite stores of other runtimes, read from a copy of the file and its write-ahead log."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from loopscope_client.transcripts.opencode import NEWER, bound
from recorder.core.formats.base import Fields
from recorder.imports.report import UnusableError

StoreKind = Literal["cagent-db", "aidaemon-db", "opencode"]
MAGIC = b"SQLite format 3\x00"
SPARSE_MAX = 16 * 1024 * 1024  # bytes that a small store may have without content
TRIES = 3  # a program that writes meanwhile may tear a copy


def is_store(path: Path) -> bool:
    """Return whether a file is a SQLite store."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def kind_of(path: Path) -> StoreKind:
    """Return the runtime of a store. Raises UnusableError."""
    with opened(path) as store:
        tables = set(names(store))
    if {"sessions", "migrations"} <= tables:
        return "cagent-db"
    if {"session", "message", "part"} <= tables or tables >= NEWER:
        return "opencode"
    if "events" in tables:
        return "aidaemon-db"
    found = ", ".join(sorted(tables)[:8]) or "none"
    raise UnusableError(f"a SQLite store of neither cagent, aidaemon nor OpenCode; its tables: {found}")


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a copy of a store for reading. Raises UnusableError."""
    stat = path.stat()
    if stat.st_size > 64 * 512 * stat.st_blocks + SPARSE_MAX:  # a file system may have packed it
        raise UnusableError("it is a sparse file, of which most was never written")
    with TemporaryDirectory(prefix="loopscope-") as folder, closing(_copy(path, Path(folder))) as store:
        bound(store, stat.st_size)
        store.row_factory = sqlite3.Row
        store.text_factory = _text
        yield store


def fields(row: sqlite3.Row) -> Fields:
    """Return a row as the fields of a line; SQLite stores any value in any column."""
    return {name: _plain(row[name]) for name in row.keys()}  # noqa: SIM118  a Row gives values


def _plain(value: object) -> str | int | float | None:
    if isinstance(value, bytes):
        return _text(value)
    return value if isinstance(value, str | int | float) else None


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


def names(store: sqlite3.Connection) -> list[str]:
    """Return the names of a store's tables."""
    return [row[0] for row in store.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


def columns(store: sqlite3.Connection, table: str) -> set[str]:
    """Return the names of a table's columns; none if there is no such table."""
    return {row[1] for row in store.execute("SELECT * FROM pragma_table_info(?)", (table,))}


def _copy(path: Path, folder: Path) -> sqlite3.Connection:
    for _ in range(TRIES):
        for suffix in ("", "-wal"):
            source = path.with_name(path.name + suffix)
            target = folder / f"store{suffix}"
            target.unlink(missing_ok=True)
            if source.exists():
                shutil.copyfile(source, target)
        store = sqlite3.connect(folder / "store")
        try:
            if store.execute("PRAGMA quick_check(1)").fetchone() == ("ok",):
                return store
        except (sqlite3.DatabaseError, UnicodeDecodeError):  # the latter where its message has damaged bytes
            pass
        store.close()
    raise UnusableError(
        "the store is damaged or cut off; recover it with `sqlite3 STORE .recover`, or stop the program that "
        "writes to it and import again"
    )
