"""Files that were imported completely: one that has not changed since is not read again.

A cache in the data folder, as paths and times are of this computer. It holds the producers that a file
became, so a file is read again if they are no longer recorded, as in another database. Without the cache all
is read.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from django.conf import settings

from recorder.models import Producer, Project

_TABLE = """CREATE TABLE IF NOT EXISTS file (
    project INTEGER, path BLOB, wanted TEXT, state TEXT, kind TEXT, producers TEXT,
    PRIMARY KEY (project, path, wanted)) WITHOUT ROWID"""
_KNOWN = "SELECT kind, producers FROM file WHERE project = ? AND path = ? AND wanted = ? AND state = ?"
Producers = dict[str, list[int]]  # by name: primary key and number of the last line


class FileCache:
    """The files of one import that were imported before."""

    def __init__(self, project: Project, wanted: str) -> None:
        self._project, self._wanted = project, wanted
        self._producers: Producers | None = None
        self._store = _opened()

    def kind(self, path: Path) -> str | None:
        """Return the kind of a file that has not changed since it was imported; None of another."""
        if self._store is None or (state := state_of(path)) is None:
            return None
        try:
            row = self._store.execute(_KNOWN, (*self._key(path), state)).fetchone()
        except sqlite3.Error:  # damaged, or locked by another import
            return None
        return str(row[0]) if row and self._are_recorded(json.loads(row[1])) else None

    def add(self, path: Path, kind: str, state: str, producers: Iterable[str]) -> None:
        """Note that a file was imported as it was in `state`."""
        if self._store is None:
            return
        recorded = Producer.objects.filter(project=self._project, name__in=list(producers))
        found = {name: [key, high] for name, key, high in recorded.values_list("name", "pk", "high")}
        with suppress(sqlite3.Error):
            self._store.execute(
                "INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?, ?)",
                (*self._key(path), state, kind, json.dumps(found)),
            )

    def close(self) -> None:
        """Close the cache."""
        if self._store is not None:
            self._store.close()

    def _key(self, path: Path) -> tuple[int, bytes, str]:
        return self._project.pk, os.fsencode(path.absolute()), self._wanted

    def _are_recorded(self, producers: Producers) -> bool:
        recorded = self._recorded()
        return bool(producers) and all(
            name in recorded and recorded[name][0] == key and recorded[name][1] >= high
            for name, (key, high) in producers.items()
        )

    def _recorded(self) -> Producers:
        if self._producers is None:
            rows = Producer.objects.filter(project=self._project).values_list("name", "pk", "high")
            self._producers = {name: [key, high] for name, key, high in rows}
        return self._producers


def state_of(path: Path) -> str | None:
    """Return what changes when a file does, the write-ahead log of a store included; None if it is gone."""
    found = []
    for each in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{_stem(path)}.meta.json")):
        try:
            stat = each.stat()
            found.append(f"{stat.st_ino}:{stat.st_size}:{stat.st_mtime_ns}")
        except OSError:
            if each is path:
                return None
    return ",".join(found)


def _stem(path: Path) -> str:
    return path.name.removesuffix(".zst").removesuffix(".gz").removesuffix(".jsonl")


def _opened() -> sqlite3.Connection | None:
    path = Path(settings.DATA) / "imports.sqlite3"
    with suppress(OSError, sqlite3.Error):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        store = sqlite3.connect(path, timeout=1, isolation_level=None)  # no lock between two files
        store.execute("PRAGMA synchronous = OFF")  # a cache: what a crash loses is read again
        store.execute(_TABLE)
        return store
    return None
