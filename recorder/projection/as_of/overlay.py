"""A session as it was at one event, for every query there is: temporary tables hide the real ones.

Each table of records has a temporary one of the same name. SQLite and PostgreSQL both find a temporary
table first, so within `as_of` every query of this connection reads the past, and pages and the API draw it
with the queries and templates of the present. The index of lines becomes a view that ends at the event.

Invariant: nothing remains and no other connection sees it. All is made inside a savepoint that is rolled
back, also when the caller raises; a temporary table belongs to one connection; nothing real is written or
locked. Rows have the keys that their records have now, so that links hold. What is no record (lines,
prices, configs, projects) is as it is now.

Cost: 5 to 10 ms for the tables, and about 10 microseconds a row; `history` says what the rows cost.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cache

from django.db import connection, transaction
from django.db.models import Max

from recorder.core.records import (
    Anomaly,
    Approval,
    ChildRef,
    Compaction,
    Group,
    Loop,
    Record,
    Session,
    TextBlock,
    ToolCall,
    Turn,
)
from recorder.database import row_mapper, sql
from recorder.journal.read import Pruned
from recorder.models import EventRecord
from recorder.models import Session as SessionRow
from recorder.projection.as_of.lineage import links, session_and_sub_agents, spawners
from recorder.projection.as_of.primary_keys import Keys
from recorder.projection.as_of.record_versions import record_versions

_KINDS: tuple[row_mapper.Kind, ...] = (
    *(Session, Group, Loop, Turn, ToolCall, ChildRef, Compaction, Approval, TextBlock, Anomaly),
)
_EVENTS = EventRecord._meta.db_table


class NotOfSession(Exception):
    """The event belongs to another session, or came before the session began."""


@contextmanager
def as_of(session: SessionRow, at: int) -> Iterator[datetime]:
    """Make this connection read a session and its sub-agents as they were at an event.

    Yields the time of the latest event of the session then. No other session is visible, except the one that
    started it.

    Raises:
        NotOfSession: the event belongs to another session.
        Pruned: bodies of lines from which the records are derived were pruned.
    """
    of_session = EventRecord.objects.filter(session=session, journal=at, journal__project=session.project_id)
    if not of_session.exists():
        raise NotOfSession
    records = _records(session, at)
    with _rolled_back():
        _create_temporary_tables(records, session.project_id, at)
        yield next(
            record.last_event_at
            for record in records
            if isinstance(record, Session) and record.id == session.pk
        )


def _records(session: SessionRow, at: int) -> Sequence[Record]:
    """Return the visible records, with their keys."""
    above, below = spawners(session.pk), session_and_sub_agents(session.pk)
    day = SessionRow.objects.filter(pk__in=below).aggregate(day=Max("pruned_on"))["day"]
    if day is not None:
        raise Pruned(day)
    sessions = above + below
    versions = record_versions(session.project_id, session.pk, sessions)
    found = versions.at(at, links(above, session.pk, after=at))
    Keys(session.project_id, sessions).give(found)
    if not any(record.id == session.pk for record in found if isinstance(record, Session)):
        raise NotOfSession
    return _visible(found, session.pk, set(below))


def _visible(records: Sequence[Record], session: int, sessions: Collection[int]) -> Sequence[Record]:
    """Return the records of `sessions`, and the loop that started `session`, with its own session."""
    seen = [record for record in records if (of := _session_of(record)) is None or of.id in sessions]
    spawner = next(each.parent for each in seen if isinstance(each, Session) and each.id == session)
    if spawner is not None and spawner.session.id not in sessions:
        seen += [spawner, spawner.session]
    return seen


def _session_of(record: Record) -> Session | None:
    match record:
        case Session():
            return record
        case Group() | Loop() | Approval() | Anomaly():
            return record.session
        case Turn() | ToolCall() | ChildRef() | Compaction() | TextBlock():
            return record.loop.session
        case _:
            return None


@contextmanager
def _rolled_back() -> Iterator[None]:
    """Roll back all changes made inside, tables too. On SQLite it begins as a reader and never waits."""
    if connection.vendor == "postgresql":
        with transaction.atomic():
            yield
            transaction.set_rollback(True)
        return
    with connection.cursor() as cursor:
        cursor.execute("SAVEPOINT seen")
        try:
            yield
        finally:
            cursor.execute("ROLLBACK TO seen")
            cursor.execute("RELEASE seen")


def _create_temporary_tables(records: Sequence[Record], project: int, at: int) -> None:
    real = _schema()
    with connection.cursor() as cursor:
        for kind in _KINDS:
            for statement in _like(row_mapper.table(kind), real):
                cursor.execute(statement)
        cursor.execute(
            f"CREATE TEMPORARY VIEW {_EVENTS} AS SELECT * FROM {real}.{_EVENTS} WHERE id <= {at:d}"
        )
    for kind in _KINDS:
        row_mapper.table(kind).put([record for record in records if type(record) is kind], project)


def _like(table: row_mapper.Table, real: str) -> Iterator[str]:
    """Return the statements that create a table like the real one, with the same indexes of keys."""
    name = table.name
    if connection.vendor == "postgresql":
        yield f"CREATE TEMPORARY TABLE {name} (LIKE {real}.{name} INCLUDING INDEXES)"
        return
    yield f"CREATE TEMPORARY TABLE {name} ({_typed(name)})"
    yield f"CREATE UNIQUE INDEX temp.{name}_id ON {name} (id)"
    for link in table.links:
        yield f"CREATE INDEX temp.{name}_{link} ON {name} ({link}_id)"


def _schema() -> str:
    """Return the schema of the real tables: without it their names address the temporary ones."""
    if connection.vendor != "postgresql":
        return "main"
    ((schema,),) = sql.read("SELECT quote_ident(current_schema())")
    return str(schema)


@cache
def _typed(name: str) -> str:
    """Return the columns of a SQLite table with their types, by which values are converted."""
    found = sql.read("SELECT name, type FROM pragma_table_info(%s, 'main')", name)
    return ", ".join(f"{column} {kind}" for column, kind in found)
