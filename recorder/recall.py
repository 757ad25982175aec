"""What the last transaction remembered, kept for the next one: on SQLite alone, and while nobody else writes.

A Memory goes on as a fresh one would, so keeping it changes no record. It is taken for one transaction and
given back by its commit. SQLite tells of commits of others, and how many rows this connection has changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from django.db import DEFAULT_DB_ALIAS, connections, transaction

from recorder import store, tables
from recorder.core.memory import Memory, Needs
from recorder.core.recorder import Line
from recorder.sqlite3.base import DatabaseWrapper

MOST_LINES = 5_000  # fed to one memory: it grows with them
MOST_PROJECTS = 8
KINDS = ("session_ids", "homes", "loop_ids", "child_sessions", "config_keys", "pairs", "producers")


@dataclass(slots=True)
class Remembered:
    """A memory, and what it was read for: there it is whole."""

    memory: Memory
    needs: Needs
    producers: frozenset[int]
    lines: int = 0

    def covers(self, needs: Needs, producers: frozenset[int]) -> bool:
        """Say whether nothing has to be read. What a loop that starts may meet is read anew."""
        is_within = all(getattr(needs, kind) <= getattr(self.needs, kind) for kind in KINDS)
        return is_within and not needs.started and producers <= self.producers


Kept: TypeAlias = dict[int, Remembered]  # by project, the one used last at the end
Stamp = tuple[int, int]


class Recall:
    """The memories of one transaction. If it does not commit they are lost: they know what is not stored."""

    def __init__(self) -> None:
        self._kept = _taken()

    def memory(self, project: int, needs: Needs, lines: Sequence[Line]) -> Memory:
        """Return a Memory that holds what `needs` names, for these lines."""
        producers = frozenset(line.producer for line in lines)
        known = self._kept.pop(project, None)
        if known is None or known.lines > MOST_LINES or not known.covers(needs, producers):
            known = Remembered(store.remember(project, needs, producers), needs, producers)
        known.lines += len(lines)
        self._kept[project] = known
        return known.memory

    def keep(self) -> None:
        """Keep them once this is committed; call it after all writes."""
        if (here := _here()) is not None:
            last = dict(list(self._kept.items())[-MOST_PROJECTS:])
            transaction.on_commit(partial(_keep, here, _stamp(here), last))


def _taken() -> Kept:
    """Return what this connection remembers, if all is still as it was."""
    here = _here()
    if here is None or here.remembered is None:
        return {}
    (stamp, kept), here.remembered = here.remembered, None
    return kept if stamp == _stamp(here) else {}


def _keep(here: DatabaseWrapper, stamp: Stamp, kept: Kept) -> None:
    if stamp[1] == here.connection.total_changes:  # else the caller went on to write
        here.remembered = stamp, kept


def _here() -> DatabaseWrapper | None:
    """Return the connection, if it is SQLite's: other nodes write to a PostgreSQL, and it cannot tell."""
    here = connections[DEFAULT_DB_ALIAS]
    return here if isinstance(here, DatabaseWrapper) else None


def _stamp(here: DatabaseWrapper) -> Stamp:
    """Return what differs once anybody has written."""
    return tables.read("PRAGMA data_version")[0][0], here.connection.total_changes
