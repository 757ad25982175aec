"""What some sessions were told, to be told again: lines and their producers' flushes, in recorded order.

Of most lines the recorder needs no more than that they came, or what records hold of them. Those are not
read: a request repeats all that was said before it, and streamed text stands in its message.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from recorder.core.events import (
    Event,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    SourceEvent,
    TurnRequest,
)
from recorder.core.events.base import construct
from recorder.core.formats import InvalidLineError
from recorder.core.formats.native import NO_LIMITS, parse
from recorder.core.formats.registry import SOURCE_OF
from recorder.core.recorder import Line
from recorder.core.records import Json, Loop, Origin
from recorder.database import sql
from recorder.database.sql import Value, aware
from recorder.journal.read import texts
from recorder.models import EventRecord, JournalEvent, Producer, Session
from recorder.projection.as_of.known import Known, Span
from recorder.projection.as_of.passed import PASSES

# Read at once: a line is made of pieces of earlier ones, which each reading needs again; but it may be large.
LINES, BYTES = 20_000, 32 * 1024 * 1024

Flush: TypeAlias = tuple[int, datetime, int]  # producer, when, journal id
LoopOf: TypeAlias = Callable[[int, str], Loop | None]  # a producer's loop, as far as it was told

_COLUMNS = (
    "j.producer_id, e.origin, e.type, e.loop_id, e.loop_key, e.session_id, e.turn_id, j.size, j.received_at,"
    " e.occurred_at"
)
_NAMING = ("TurnEnd", "AgentEnd")


class Row(NamedTuple):
    """A line and where it belongs."""

    pk: int
    producer: int
    origin: Origin
    type: str
    loop: int | None
    loop_key: str
    session: int | None
    turn: int | None
    size: int
    received_at: Value  # this and the next as the database has them
    occurred_at: Value


class _Source(NamedTuple):
    form: str
    name: str
    is_demo: bool


def told(span: Span, known: Known, messages: Collection[int], loop_of: LoopOf) -> Iterator[Line | Flush]:
    """Return the lines and flushes of a span; of messages that could pass only those that are given."""
    sources = _sources(span.sessions)
    names = dict(Session.objects.filter(pk__in=span.sessions).values_list("pk", "session_id"))
    about = _About(sources, names, known, messages, loop_of)
    after, end = span.after, 0
    while end < span.until:
        rows = _rows(Span(span.sessions, after, span.until), messages)
        stretch = _Stretch(rows, about)
        end = span.until if len(stretch.rows) == len(rows) < LINES else stretch.rows[-1].pk
        flushes = _flushes(sources, after, end)
        for row in stretch.rows:
            while flushes and flushes[0][2] < row.pk:
                yield flushes.pop(0)
            yield stretch.line(row)
        yield from flushes
        after = end


def _sources(sessions: Collection[int]) -> dict[int, _Source]:
    of_sessions = EventRecord.objects.filter(session__in=sessions).values("journal__producer")
    found = Producer.objects.filter(pk__in=of_sessions).values_list("pk", "format", "is_demo")
    return {pk: _Source(form, SOURCE_OF.get(form, form), is_demo) for pk, form, is_demo in found}


def _rows(span: Span, messages: Collection[int]) -> list[Row]:
    statement = f"""SELECT e.id, {_COLUMNS}
        FROM recorder_eventrecord e JOIN recorder_journalevent j ON j.id = e.id
        WHERE {span.here("e")} AND (NOT {PASSES} OR {sql.in_list("e.id")})
        ORDER BY e.id LIMIT {LINES}"""
    return [Row(*row) for row in sql.read(statement, *span.values(), sql.list_param(messages))]


def _flushes(producers: Collection[int], after: int, until: int) -> list[Flush]:
    # Only lines have numbers: the index of numbers finds the others.
    found = JournalEvent.objects.filter(producer__in=producers, seq=None, kind="flush")
    found = found.filter(pk__gt=after, pk__lte=until).order_by("pk")
    return list(found.values_list("producer_id", "received_at", "pk"))


class _About(NamedTuple):
    """What all stretches of a span need."""

    sources: Mapping[int, _Source]
    names: Mapping[int, str]
    known: Known
    messages: Collection[int]  # that are told
    loop_of: LoopOf


class _Stretch:
    """Rows that are taken at once: the text of lines that must be read, and what is known of the others."""

    def __init__(self, rows: list[Row], about: _About) -> None:
        self._about, self._known = about, about.known
        needed = self._needed(rows)
        sizes = accumulate(row.size if row.pk in needed else 0 for row in rows)
        self.rows = [row for row, size in zip(rows, sizes, strict=True) if size <= BYTES] or rows[:1]
        self._received: tuple[Value, Value] = None, None
        self._texts = texts([row.pk for row in self.rows if row.pk in needed])

    def line(self, row: Row) -> Line:
        """Return a line as it was told, or as much of it as is needed."""
        form, name, is_demo = self._about.sources[row.producer]
        text = self._texts.pop(row.pk, None)
        if text is None and row.type in _NAMING and self._may_name(row):
            text = texts([row.pk])[row.pk]
        event = self._unread(row, form) if text is None else self._read(row, form, text)
        if row.received_at != self._received[0]:  # lines that are sent together are received at once
            self._received = row.received_at, aware(row.received_at)
        return Line(row.pk, row.producer, self._received[1], name, event, is_demo, row.origin)

    def _needed(self, rows: list[Row]) -> set[int]:
        """Return the lines that must be read. A loop's first answer may name its config."""
        needed = {row.pk for row in rows if not self._is_known(row)}
        first: dict[int, int] = {}
        for row in rows:
            if row.type == "TurnEnd" and row.loop is not None and self._known.loops[row.loop].config_inferred:
                first.setdefault(row.loop, row.pk)
        return needed.union(first.values())

    def _is_known(self, row: Row) -> bool:
        """Say whether a line need not be read, unless it names its loop's config."""
        if self._is_retold(row):
            return True
        match row.type:
            case "MessageStart" | "MessageUpdate":
                return row.pk not in self._about.messages
            case _ if row.loop is None:
                return False
            case "MessageEnd":
                return row.turn is not None  # before a turn it may say how its loop ends
            case "TurnRequest":
                return row.occurred_at is not None
            case _:
                return self._known.has(row.type, row.pk, row.loop)

    def _is_retold(self, row: Row) -> bool:
        """Say whether lines before it say what it says."""
        return row.origin in ("told", "kept") and self._about.sources[row.producer].form != "native"

    def _may_name(self, row: Row) -> bool:
        """Say whether a line may name the config of its loop."""
        if row.loop is None or not self._known.loops[row.loop].config_inferred or self._is_retold(row):
            return False
        before = self._about.loop_of(row.producer, self._loop_id(row))
        return before is not None and before.status == "running" and before.config is None

    def _read(self, row: Row, form: str, text: bytes) -> Event:
        if form == "native" or row.origin == "read":
            try:
                return parse(text, limits=NO_LIMITS)
            except InvalidLineError:
                pass
        return self._retold(row, form)

    def _unread(self, row: Row, form: str) -> Event:
        if self._is_retold(row):
            return self._retold(row, form)
        bare = _BARE.get(row.type)
        if bare is not None:
            return bare(self._loop_id(row), self._known.prompt(row.pk, row.loop))
        at = aware(row.occurred_at)
        if row.loop is None:
            return self._retold(row, form)
        if row.type == "TurnRequest" and at is not None:
            return _request(self._loop_id(row), at)
        return self._known.event(row.type, row.pk, at, row.loop)

    def _retold(self, row: Row, form: str) -> Event:
        """Return a line that only stands where it stood."""
        return construct(
            SourceEvent,
            source=form,
            name=row.type,
            loop_id=self._loop_id(row) or None,
            session_id=None if row.session is None else self._about.names[row.session],
            timestamp=aware(row.occurred_at),
            understood=row.origin in ("told", "kept"),
        )

    def _loop_id(self, row: Row) -> str:
        return row.loop_key if row.loop is None else self._known.loops[row.loop].loop_id


# Of messages at most the prompt is told that named their loop.
_BARE: Mapping[str, Callable[[str, Json], Event]] = {
    "MessageStart": lambda loop, _: construct(MessageStart, loop_id=loop, message=None),
    "MessageUpdate": lambda loop, _: construct(MessageUpdate, loop_id=loop, message=None, delta=None),
    "MessageEnd": lambda loop, prompt: construct(MessageEnd, loop_id=loop, message=prompt),
}


def _request(loop_id: str, at: datetime) -> TurnRequest:
    return construct(TurnRequest, loop_id=loop_id, turn_index=0, payload=None, timestamp=at)
