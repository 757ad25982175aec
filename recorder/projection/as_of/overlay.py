"""A session as it was at one event, for every query there is: its records stand in tables of the same names.

They are temporary and seen by one connection alone, for which they stand before the real ones; nothing is
locked and nobody else's view changes. So pages and API draw the past with what they draw the present with.
Keys are those that the records have now. What is no record (lines, prices, configs, projects) is as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache

from django.db import connection, transaction
from django.db.models import Max

from recorder.core import records as core_records
from recorder.core.records import Record, Session
from recorder.database import row_mapper, sql
from recorder.journal.read import Pruned
from recorder.models import EventRecord, LoopRecord
from recorder.models import Session as SessionRow
from recorder.projection.as_of.primary_keys import Keys
from recorder.projection.as_of.record_versions import Values, history
from recorder.projection.as_of.streaming_text import streamed

MOST_SESSIONS = 200  # sub-agents of sub-agents that are folded with a session
_KINDS: tuple[row_mapper.Kind, ...] = (
    *(
        core_records.Session,
        core_records.Group,
        core_records.Loop,
        core_records.Turn,
        core_records.ToolCall,
        core_records.ChildRef,
    ),
    *(core_records.Compaction, core_records.Approval, core_records.TextBlock, core_records.Anomaly),
)
_EVENTS = EventRecord._meta.db_table


class NotOfSession(Exception):
    """The event is none of the session's, or came before the session began."""


@contextmanager
def as_of(session: SessionRow, at: int) -> Iterator[None]:
    """Let this connection see a session and its sub-agents as they were at an event.

    No other session is to be seen, but for the one that spawned it. Raises NotOfSession, or Pruned when the
    lines from which it would be told are not whole.
    """
    of_session = EventRecord.objects.filter(session=session, journal=at, journal__project=session.project_id)
    if not of_session.exists():
        raise NotOfSession
    rows = _rows(session, at)
    with _apart():
        _stand_in(rows, session.project_id, at)
        _let_in_spawner(session.pk, at)
        yield


def _rows(session: SessionRow, at: int) -> Mapping[row_mapper.Kind, sql.Values]:
    """Return the rows of each table."""
    sessions = _with_sub_agents(session.pk)
    day = SessionRow.objects.filter(pk__in=sessions).aggregate(day=Max("pruned_on"))["day"]
    if day is not None:
        raise Pruned(day)
    found = history(session.project_id, session.pk, sessions)
    with found.lock:  # keys are given to its records
        then = found.at(at)
        if not any(isinstance(each, Session) and each.session_id == session.session_id for each in then):
            raise NotOfSession
        keys = Keys(session.project_id, found.sessions)
        keys.give(then)
        then |= streamed(then, at, keys)
        return {kind: _rows_of(kind, then) for kind in _KINDS}


def _rows_of(kind: row_mapper.Kind, then: Mapping[Record, Values]) -> sql.Values:
    records = [record for record in then if type(record) is kind]
    return row_mapper.table(kind).rows_of([then[each] for each in records], [each.id for each in records])


def _with_sub_agents(session: int) -> list[int]:
    """Return a session and those below it, as they are linked now."""
    known, frontier = {session: None}, [session]
    while frontier and len(known) < MOST_SESSIONS:
        below = SessionRow.objects.filter(parent__session__in=frontier).order_by("pk")
        frontier = [pk for pk in below.values_list("pk", flat=True)[:MOST_SESSIONS] if pk not in known]
        known |= dict.fromkeys(frontier)
    return list(known)


@contextmanager
def _apart() -> Iterator[None]:
    """Take back all that is made inside, tables too. On SQLite it begins as a reader and never waits."""
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


def _stand_in(rows: Mapping[row_mapper.Kind, sql.Values], project: int, at: int) -> None:
    real = _schema()
    with connection.cursor() as cursor:
        for kind in _KINDS:
            for statement in _like(row_mapper.table(kind), real):
                cursor.execute(statement)
        cursor.execute(
            f"CREATE TEMPORARY VIEW {_EVENTS} AS SELECT * FROM {real}.{_EVENTS} WHERE id <= {at:d}"
        )
    for kind in _KINDS:
        row_mapper.table(kind).insert(rows[kind], project)


def _like(table: row_mapper.Table, real: str) -> Iterator[str]:
    """Return the statements that make a table like the real one, found by the same keys."""
    name = table.name
    if connection.vendor == "postgresql":
        yield f"CREATE TEMPORARY TABLE {name} (LIKE {real}.{name} INCLUDING INDEXES)"
        return
    yield f"CREATE TEMPORARY TABLE {name} ({_typed(name)})"
    yield f"CREATE UNIQUE INDEX temp.{name}_id ON {name} (id)"
    for link in table.links:
        yield f"CREATE INDEX temp.{name}_{link} ON {name} ({link}_id)"


def _schema() -> str:
    """Return where the real tables are: their names alone mean the others now."""
    if connection.vendor != "postgresql":
        return "main"
    ((schema,),) = sql.read("SELECT quote_ident(current_schema())")
    return str(schema)


@cache
def _typed(name: str) -> str:
    """Return the columns of a table of SQLite with their types, by which values are read."""
    found = sql.read("SELECT name, type FROM pragma_table_info(%s, 'main')", name)
    return ", ".join(f"{column} {kind}" for column, kind in found)


def _let_in_spawner(session: int, at: int) -> None:
    """Let the loop be seen, with its session, that spawned this one: if it had, by then."""
    real = _schema()
    loop, session_row = LoopRecord._meta.db_table, SessionRow._meta.db_table
    spawner = f"(SELECT parent_id FROM {real}.{session_row} WHERE id = %s)"
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {loop} SELECT * FROM {real}.{loop} l WHERE id = {spawner} AND start_event <= %s"
            f" AND NOT EXISTS (SELECT 1 FROM {loop} t WHERE t.id = l.id)",
            [session, at],
        )
        cursor.execute(
            f"INSERT INTO {session_row} SELECT * FROM {real}.{session_row} s WHERE id IN"
            f" (SELECT session_id FROM {loop}) AND id NOT IN (SELECT id FROM {session_row})"
        )
        cursor.execute(
            f"UPDATE {session_row} SET parent_id = {spawner} WHERE id = %s AND EXISTS"
            f" (SELECT 1 FROM {loop} WHERE id = {spawner})",
            [session, session, session],
        )
