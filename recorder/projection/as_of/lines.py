"""The lines of some sessions with their producers' ends of stream, in recorded order, for the recorder.

A native line becomes a lazy event (see `lazy_events`): its head is read from the index of lines, its body
from the journal. A foreign line was translated when it was received, and its translation is in the journal
as native lines before it. Of the foreign line itself the recorder gets only the head, as it did then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeAlias, get_args

from recorder.core.events import AgentStart, Event, LoopEvent, SourceEvent
from recorder.core.events.base import construct
from recorder.core.formats.native import EVENT_TYPES
from recorder.core.formats.registry import SOURCE_OF
from recorder.core.recorder import JournalLine
from recorder.core.records import FOREIGN_ORIGINS, ORIGIN_DERIVED, Origin
from recorder.database import sql
from recorder.database.sql import Value
from recorder.journal.replay import EndOfStream
from recorder.models import JournalEvent, Producer
from recorder.projection.as_of.lazy_events import BodyReader, BodyUse, Unreadable, lazy_event

ROWS = 20_000  # of the index of lines that are read at once

Entry: TypeAlias = JournalLine | EndOfStream

_LAZY = {name: model for name, model in EVENT_TYPES.items() if model in get_args(LoopEvent)}
# In SQLite a COALESCE has no declared type, so that Django leaves times unparsed: most lines share theirs.
_COLUMNS = (
    "e.id, j.producer_id, e.origin, e.type, e.loop_id, e.loop_key, e.session_id, j.size,"
    " COALESCE(j.received_at, NULL), COALESCE(e.occurred_at, NULL)"
)
_OF_BODIES = (0, 3, 7)  # of these columns: id, type, size


class _Row(NamedTuple):
    """A line in the index of lines."""

    line: int
    producer: int
    origin: Origin
    type: str
    loop: int | None
    loop_key: str
    session: int | None
    size: int
    received_at: Value  # as the database has it, like the next
    occurred_at: Value


class _Loop(NamedTuple):
    loop_id: str
    start_event: int | None


class _Source(NamedTuple):
    form: str
    name: str
    is_demo: bool


class SessionLines:
    """Reads lines of some sessions, and learns which bodies the recorder reads.

    A line that was accepted once and is rejected today raises Unreadable while the recorder reads it. With
    `tolerates_unreadable` all bodies are parsed before they are fed, and of such lines only the head is fed.
    """

    def __init__(self, sessions: Sequence[int]) -> None:
        self.tolerates_unreadable = False
        self._sessions = sql.list_param(sessions)
        self._use = BodyUse()
        self._sources: dict[int, _Source] = {}  # of lines that were read

    def count(self, until: int) -> int:
        """Return how many lines there are up to one. One query."""
        statement = f"SELECT COUNT(*) FROM recorder_eventrecord e WHERE {_here()} AND e.id <= %s"
        number: int = sql.read(statement, self._sessions, until)[0][0]
        return number

    def between(self, after: int, until: int) -> Iterator[Entry]:
        """Read the lines after one up to another, both by their journal ids."""
        index = _Index(self._sessions)
        end = after
        while end < until:
            rows = self._rows("e.id > %s AND e.id <= %s", end, until)
            begin, end = end, until if len(rows) < ROWS else rows[-1][0]
            flushes = _flushes(self._sources, begin, end)
            for line in self._lines(rows, index):
                while flushes and flushes[0].id < line.id:
                    yield flushes.pop(0)
                yield line
            yield from flushes

    def these(self, lines: Collection[int]) -> Iterator[Entry]:
        """Read the lines with these journal ids that belong to the sessions."""
        rows = self._rows(sql.in_list("e.id"), sql.list_param(lines))
        yield from self._lines(rows, _Index(self._sessions))

    def _rows(self, where: str, *values: Value) -> list[tuple[Any, ...]]:
        """Return rows as tuples of plain values, which the garbage collector does not track."""
        statement = f"""SELECT {_COLUMNS} FROM recorder_eventrecord e
            JOIN recorder_journalevent j ON j.id = e.id
            WHERE {_here()} AND {where} ORDER BY e.id LIMIT {ROWS}"""
        rows = sql.read(statement, self._sessions, *values)
        if new := {row[1] for row in rows} - self._sources.keys():
            for producer in Producer.objects.filter(pk__in=new):
                name = SOURCE_OF.get(producer.format, producer.format)
                self._sources[producer.pk] = _Source(producer.format, name, producer.is_demo)
        return rows

    def _lines(self, rows: Sequence[tuple[Any, ...]], index: _Index) -> Iterator[JournalLine]:
        ids, types, sizes = ([row[column] for row in rows] for column in _OF_BODIES)
        bodies = BodyReader(ids, types, sizes, self._use)
        received: Value = None
        at: Value = None
        for place, fields in enumerate(rows):
            row = _Row(*fields)
            if row.received_at != received:  # lines that are sent together are received at once
                received, at = row.received_at, _utc(row.received_at)
            source = self._sources[row.producer]
            event = self._event(row, source, index, bodies, place)
            yield JournalLine(row.line, row.producer, at, source.name, event, source.is_demo, row.origin)

    def _event(self, row: _Row, source: _Source, index: _Index, bodies: BodyReader, place: int) -> Event:
        if source.form != "native" and row.origin != ORIGIN_DERIVED:
            return index.head(row, source.name)
        if self.tolerates_unreadable:
            try:
                return bodies.event(place)
            except Unreadable:
                return index.head(row, source.name)
        model, loop = _LAZY.get(row.type), index.loop_of(row)
        if model is None or loop is None:
            return bodies.event(place)
        return lazy_event(model, loop.loop_id, _utc(row.occurred_at), bodies.event, place)


class _Index:
    """The loops and session ids of the lines of some sessions. Two queries."""

    def __init__(self, sessions: Value) -> None:
        here = sql.in_list("session_id")
        loops = f"SELECT id, loop_id, start_event FROM recorder_looprecord WHERE {here}"
        names = f"SELECT id, session_id FROM recorder_session WHERE {sql.in_list('id')}"
        self._loops = {key: _Loop(*about) for key, *about in sql.read(loops, sessions)}
        self._names: Mapping[int | None, str] = dict(sql.read(names, sessions))
        self._adopted: dict[int, str | None] = {}  # by start event: the id that it adopted lines by

    def loop_of(self, row: _Row) -> _Loop | None:
        """Return the loop that a line names; None if the line came before the loop's start."""
        loop = self._loops.get(row.loop or 0)
        is_of_it = loop is not None and loop.start_event is not None and row.line > loop.start_event
        return loop if is_of_it else None

    def head(self, row: _Row, source: str) -> SourceEvent:
        """Return the head of a line, as the reader of a foreign format gave it to the recorder."""
        loop = self._loops.get(row.loop or 0)
        came_before = loop is not None and self.loop_of(row) is None
        if came_before and not row.loop_key and loop is not None:
            loop_id = self._prepared_by(loop)
        else:
            loop_id = row.loop_key or (None if loop is None else loop.loop_id)
        return construct(
            SourceEvent,
            source=source,
            name=row.type,
            loop_id=loop_id,
            # An orphan named no session that was known.
            session_id=None if came_before or row.loop_key else self._names.get(row.session),
            timestamp=_utc(row.occurred_at),
            understood=row.origin in FOREIGN_ORIGINS,
        )

    def _prepared_by(self, loop: _Loop) -> str | None:
        """Return the id by which the start of a loop adopted lines that came before it. One query a loop."""
        start = loop.start_event or 0
        if start not in self._adopted:
            self._adopted[start] = None
            with suppress(Unreadable):
                event = BodyReader([start], ["AgentStart"], [0], BodyUse()).event(0)
                self._adopted[start] = event.adopts if isinstance(event, AgentStart) else None
        return self._adopted[start]


def _here() -> str:
    return sql.in_list("e.session_id")


def _utc(moment: Value) -> Value:
    """Return a time as the recorder has it; those of SQLite are texts without a zone."""
    return datetime.fromisoformat(moment).replace(tzinfo=UTC) if isinstance(moment, str) else moment


def _flushes(producers: Collection[int], after: int, until: int) -> list[EndOfStream]:
    # Only lines have numbers: the index of numbers finds the others.
    found = JournalEvent.objects.filter(producer__in=producers, seq=None, kind="flush")
    found = found.filter(pk__gt=after, pk__lte=until).order_by("pk")
    return [EndOfStream(*row) for row in found.values_list("pk", "producer_id", "received_at")]
