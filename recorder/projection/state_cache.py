"""What the last transaction remembered, kept for the next one: on SQLite alone, and while nobody else writes.

A Memory goes on as a fresh one would, so keeping it changes no record. It is taken for one transaction and
given back by its commit. SQLite tells of commits of others, and how many rows this connection has changed.
What a memory was not read for, it holds all the same if the tables have none of it: it saw every line since.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import partial
from heapq import nlargest
from itertools import chain, islice
from typing import TypeAlias

from django.db import DEFAULT_DB_ALIAS, connections, transaction

from recorder.core.handlers.lineage import session_id_of
from recorder.core.recorder import Line
from recorder.core.records import Loop
from recorder.core.state import State, StateKeys
from recorder.database import sql
from recorder.database.sqlite.base import DatabaseWrapper
from recorder.projection import load_state, store

MOST_LINES = 10_000  # fed to one memory: it grows with them
MOST_PROJECTS = 8
MOST_BESIDE, MOST_CONFIGS = 16, 100  # loops, and configs or pairs: read with what lines need
KINDS = tuple(each.name for each in fields(StateKeys))
READ_ALWAYS = ("config_keys", "price_keys", "ending_producers")  # seldom new, or seldom without a record
NOTHING = StateKeys()


@dataclass(slots=True)
class CachedState:
    """A memory, and what it was read for: there it is whole."""

    state: State
    needs: StateKeys
    producers: frozenset[int]
    lines: int = 0

    def covers(self, project: int, needs: StateKeys, producers: frozenset[int]) -> bool:
        """Say whether nothing has to be read; from then on the memory is whole for these needs too."""
        more = StateKeys(**{kind: getattr(needs, kind) - getattr(self.needs, kind) for kind in KINDS})
        senders = producers - self.producers
        if more == NOTHING and not senders:
            return True
        if any(getattr(more, kind) for kind in READ_ALWAYS) or (needs.may_link and not self.needs.may_link):
            return False
        theirs = self.needs.loop_ids | needs.loop_ids if senders else NOTHING.loop_ids
        if load_state.holds_any(project, more, senders, theirs):
            return False
        self.needs = StateKeys(**{kind: getattr(self.needs, kind) | getattr(more, kind) for kind in KINDS})
        self.producers |= senders
        return True

    def with_running(self, needs: StateKeys, producers: frozenset[int]) -> tuple[StateKeys, frozenset[int]]:
        """Return wider needs, with what goes on: else producers that take turns would read in turns."""
        running = nlargest(MOST_BESIDE, chain.from_iterable(self.state.running_loops.values()), key=_heard_of)
        wider = replace(
            needs,
            session_ids=needs.session_ids.union(loop.session.session_id for loop in running),
            orphan_session_ids=needs.orphan_session_ids.union(
                session_id_of(loop.loop_id) for loop in running
            ),
            loop_ids=needs.loop_ids.union(loop.loop_id for loop in running),
            config_keys=needs.config_keys.union(islice(self.needs.config_keys, MOST_CONFIGS)),
            price_keys=needs.price_keys.union(islice(self.needs.price_keys, MOST_CONFIGS)),
        )
        return wider, producers.union(loop.producer for loop in running)


Kept: TypeAlias = dict[int, CachedState]  # by project, the one used last at the end
Stamp = tuple[int, int]


class StateCache:
    """The memories of one transaction. If it does not commit they are lost: they know what is not stored."""

    def __init__(self) -> None:
        self._kept = _taken()

    def known(self, project: int, needs: StateKeys, lines: Sequence[Line]) -> State | None:
        """Return a Memory that holds what `needs` names, for these lines; None if it has to be read."""
        known = self._kept.get(project)
        if known is None or known.lines > MOST_LINES or not known.covers(project, needs, _senders(lines)):
            return None
        return self._used(project, known, lines)

    def read(self, project: int, needs: StateKeys, lines: Sequence[Line]) -> State:
        """Read such a Memory; what an earlier one learnt has to be in the tables."""
        producers = _senders(lines)
        before = self._kept.get(project)
        if before is not None:
            needs, producers = before.with_running(needs, producers)
        known = CachedState(store.load_state(project, needs, producers), needs, producers)
        return self._used(project, known, lines)

    def _used(self, project: int, known: CachedState, lines: Sequence[Line]) -> State:
        known.lines += len(lines)
        self._kept.pop(project, None)
        self._kept[project] = known
        return known.state

    def keep(self) -> None:
        """Keep them once this is committed; call it after all writes."""
        if (here := _here()) is not None:
            last = dict(list(self._kept.items())[-MOST_PROJECTS:])
            transaction.on_commit(partial(_keep, here, _stamp(here), last))


def _heard_of(loop: Loop) -> datetime:
    return loop.session.last_event_at


def _senders(lines: Sequence[Line]) -> frozenset[int]:
    return frozenset(line.producer for line in lines)


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
    return sql.read("PRAGMA data_version")[0][0], here.connection.total_changes
