"""A cache of the State between transactions: on SQLite alone, and while no other connection writes.

A cached State leads to the same records as a fresh one, so caching changes none. One transaction takes it
out of the connection, and only its commit puts it back: a State that saw lines of a failed transaction is
dropped.

Invariant: the tables hold nothing about the keys of a `CachedState` that its State does not hold. For new
keys one query (`holds_any`) asks whether the tables have anything; if not, the State is complete for them as
well, because it saw every line since it was loaded. SQLite's `data_version` changes with every commit of
another connection, and `total_changes` with every row that this connection writes: if either differs, the
cache is void.

Cost: a batch of known loops needs no query for its State; one with new ids needs one, else a full load.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from heapq import nlargest
from itertools import chain, islice
from typing import TypeAlias

from django.db import DEFAULT_DB_ALIAS, connections, transaction

from recorder.core.handlers.lineage import session_id_of
from recorder.core.lookups import StateKeys
from recorder.core.recorder import JournalLine
from recorder.core.records import Loop
from recorder.core.state import State
from recorder.database import sql
from recorder.database.sqlite.base import DatabaseWrapper
from recorder.projection import store
from recorder.projection.lookup_sql import holds_any

MAX_LINES = 10_000  # fed to one State, which grows with them
MAX_PROJECTS = 8
MAX_EXTRA_LOOPS, MAX_EXTRA_CONFIGS = 16, 100  # loaded beside what the lines need
# Keys of which holds_any knows nothing: configs and prices are seldom new, ending producers are rare.
_LOADED_ALWAYS = ("config_keys", "price_keys", "ending_producers")
_NO_KEYS = StateKeys()


@dataclass(slots=True)
class CachedState:
    """A State, the keys and producers for which it is complete, and the number of lines fed to it."""

    state: State
    keys: StateKeys
    producers: frozenset[int]
    lines: int = 0

    def covers(self, project: int, keys: StateKeys, producers: frozenset[int]) -> bool:
        """Return whether the State is complete for `keys` without a load; if so, note that it is."""
        if keys.shrinking_session_ids or keys.reopening_loop_ids:  # their remaining state is not known
            return False
        new_keys, new_producers = keys.difference(self.keys), producers - self.producers
        if new_keys == _NO_KEYS and not new_producers:
            return True
        if any(getattr(new_keys, name) for name in _LOADED_ALWAYS):
            return False
        if keys.may_link and not self.keys.may_link:  # the ancestors of its loops were not loaded
            return False
        # A new producer may have a run of its own of every loop id.
        loop_ids = self.keys.loop_ids | keys.loop_ids if new_producers else _NO_KEYS.loop_ids
        if holds_any(project, new_keys, new_producers, loop_ids):
            return False
        self.keys = self.keys.union(new_keys)
        self.producers |= new_producers
        return True

    def with_running(self, keys: StateKeys, producers: frozenset[int]) -> tuple[StateKeys, frozenset[int]]:
        """Return keys and producers with those of the running loops that had lines last.

        Without them producers that send in turns would each load their own loops and drop the others'.
        """
        running = nlargest(
            MAX_EXTRA_LOOPS, chain.from_iterable(self.state.running_loops.values()), key=_last_received_at
        )
        wider = replace(
            keys,
            session_ids=keys.session_ids.union(loop.session.session_id for loop in running),
            orphan_session_ids=keys.orphan_session_ids.union(session_id_of(loop.loop_id) for loop in running),
            loop_ids=keys.loop_ids.union(loop.loop_id for loop in running),
            config_keys=keys.config_keys.union(islice(self.keys.config_keys, MAX_EXTRA_CONFIGS)),
            price_keys=keys.price_keys.union(islice(self.keys.price_keys, MAX_EXTRA_CONFIGS)),
        )
        return wider, producers.union(loop.producer for loop in running)


States: TypeAlias = dict[int, CachedState]  # by project, the one used last at the end
DatabaseVersion = tuple[int, int]


class StateCache:
    """The cached States of one transaction; they are dropped unless it commits."""

    def __init__(self) -> None:
        self._states = _take_from_connection()

    def get(self, project: int, keys: StateKeys, lines: Sequence[JournalLine]) -> State | None:
        """Return a State that is complete for `keys`, to feed `lines` to; None if it has to be loaded."""
        cached = self._states.get(project)
        if cached is None or cached.lines > MAX_LINES or not cached.covers(project, keys, _producers(lines)):
            return None
        return self._use(project, cached, lines)

    def load(self, project: int, keys: StateKeys, lines: Sequence[JournalLine]) -> State:
        """Load a State for `keys`; changes of an earlier one must have been saved."""
        producers = _producers(lines)
        before = self._states.get(project)
        if before is not None:
            keys, producers = before.with_running(keys, producers)
        cached = CachedState(store.load_state(project, keys, producers), keys, producers)
        return self._use(project, cached, lines)

    def keep_on_commit(self) -> None:
        """Keep the States for the next transaction if this one commits; call it after all writes."""
        if (connection := _sqlite_connection()) is not None:
            last_used = dict(list(self._states.items())[-MAX_PROJECTS:])
            transaction.on_commit(partial(_put_back, connection, _version(connection), last_used))

    def _use(self, project: int, cached: CachedState, lines: Sequence[JournalLine]) -> State:
        cached.lines += len(lines)
        self._states.pop(project, None)
        self._states[project] = cached
        return cached.state


def _last_received_at(loop: Loop) -> datetime:
    return loop.session.last_received_at


def _producers(lines: Sequence[JournalLine]) -> frozenset[int]:
    return frozenset(line.producer for line in lines)


def _take_from_connection() -> States:
    """Return the cached States of the connection and remove them; none if the database has changed."""
    connection = _sqlite_connection()
    if connection is None or connection.cached_states is None:
        return {}
    (version, states), connection.cached_states = connection.cached_states, None
    return states if version == _version(connection) else {}


def _put_back(connection: DatabaseWrapper, version: DatabaseVersion, states: States) -> None:
    if version[1] == connection.connection.total_changes:  # else the transaction wrote more after `load`
        connection.cached_states = version, states


def _sqlite_connection() -> DatabaseWrapper | None:
    """Return the connection if it is SQLite's. PostgreSQL has no cheap way to detect other nodes' commits."""
    connection = connections[DEFAULT_DB_ALIAS]
    return connection if isinstance(connection, DatabaseWrapper) else None


def _version(connection: DatabaseWrapper) -> DatabaseVersion:
    """Return a value that differs once any connection has written."""
    return sql.read("PRAGMA data_version")[0][0], connection.connection.total_changes
