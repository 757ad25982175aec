"""What some sessions were told, to be told again: lines and their producers' flushes, in recorded order.

Of most lines the recorder needs no more than that they came, or what records hold of them. Those are not
read: a request repeats all that was said before it, and streamed text stands in its message.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from recorder import tables
from recorder.core.changes import Loop, Origin
from recorder.core.events import (
    Event,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    SourceEvent,
    TurnRequest,
)
from recorder.core.formats import Refused
from recorder.core.formats.native import NO_LIMITS, parse
from recorder.core.recorder import Line
from recorder.core.shape import made
from recorder.journal import SOURCES
from recorder.lines import texts
from recorder.models import EventRecord, JournalEvent, Producer, Session
from recorder.past.known import Known
from recorder.tables import Value, aware

# Read at once: a line is made of pieces of earlier ones, which each reading needs again; but it may be large.
LINES, BYTES = 20_000, 32 * 1024 * 1024

Flush: TypeAlias = tuple[int, datetime, int]  # producer, when, journal id
LoopOf: TypeAlias = Callable[[int, str], Loop | None]  # a producer's loop, as far as it was told

_COLUMNS = (
    "j.producer_id, e.origin, e.type, e.loop_id, e.loop_key, e.session_id, e.turn_id, j.size, j.received_at,"
    " e.occurred_at"
)
_NAMING = ("MessageEnd", "TurnEnd", "AgentEnd")


class Passed(Line):
    """A line of which no more is told than that it came."""

    __slots__ = ()


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


def told(sessions: Collection[int], after: int, until: int, loop_of: LoopOf) -> Iterator[Line | Flush]:
    """Return lines and flushes after one event, up to another."""
    sources = _sources(sessions)
    names = dict(Session.objects.filter(pk__in=sessions).values_list("pk", "session_id"))
    while True:
        stretch = _Stretch(_rows(sessions, after, until), sources, names, loop_of)
        end = stretch.rows[-1].pk if stretch.rows else until
        flushes = _flushes(sources, after, end)
        for row in stretch.rows:
            while flushes and flushes[0][2] < row.pk:
                yield flushes.pop(0)
            yield stretch.line(row)
        yield from flushes
        if end == until:
            return
        after = end


def _sources(sessions: Collection[int]) -> dict[int, _Source]:
    of_sessions = EventRecord.objects.filter(session__in=sessions).values("journal__producer")
    found = Producer.objects.filter(pk__in=of_sessions).values_list("pk", "format", "is_demo")
    return {pk: _Source(form, SOURCES.get(form, form), is_demo) for pk, form, is_demo in found}


def _rows(sessions: Collection[int], after: int, until: int) -> list[Row]:
    sql = f"""SELECT e.id, {_COLUMNS} FROM recorder_eventrecord e JOIN recorder_journalevent j ON j.id = e.id
        WHERE {tables.among("e.session_id")} AND e.id > %s AND e.id <= %s ORDER BY e.id LIMIT {LINES}"""  # noqa: S608
    return [Row(*row) for row in tables.read(sql, tables.several(sessions), after, until)]


def _flushes(producers: Collection[int], after: int, until: int) -> list[Flush]:
    # Only lines have numbers: the index of numbers finds the others.
    found = JournalEvent.objects.filter(producer__in=producers, seq=None, kind="flush")
    found = found.filter(pk__gt=after, pk__lte=until).order_by("pk")
    return list(found.values_list("producer_id", "received_at", "pk"))


class _Stretch:
    """Rows that are taken at once: the text of lines that must be read, and what is known of the others."""

    def __init__(
        self, rows: list[Row], sources: Mapping[int, _Source], names: Mapping[int, str], loop_of: LoopOf
    ) -> None:
        self._sources, self._names, self._loop_of = sources, names, loop_of
        loops = {row.loop for row in rows if row.loop is not None}
        self._known = Known(loops, *((rows[0].pk, rows[-1].pk) if rows else (0, 0)))
        needed = self._needed(rows)
        sizes = accumulate(row.size if row.pk in needed else 0 for row in rows)
        self.rows = [row for row, size in zip(rows, sizes, strict=True) if size <= BYTES] or rows[:1]
        self._last: tuple[Value, Value] = None, None
        self._texts = texts([row.pk for row in self.rows if row.pk in needed])

    def line(self, row: Row) -> Line:
        """Return a line as it was told, or as much of it as is needed."""
        form, name, is_demo = self._sources[row.producer]
        received_at = self._received(row)
        text = self._texts.pop(row.pk, None)
        if text is None and row.type in _NAMING and self._may_name(row):
            text = texts([row.pk])[row.pk]
        if text is None and row.type in _PASSING and not self._is_retold(row):
            event = _bare(row.type, self._loop_id(row))
            return Passed(row.pk, row.producer, received_at, name, event, is_demo, row.origin)
        event = self._unread(row, form) if text is None else self._read(row, form, text)
        return Line(row.pk, row.producer, received_at, name, event, is_demo, row.origin)

    def _needed(self, rows: list[Row]) -> set[int]:
        """Return the lines that must be read.

        Of streamed text the last piece says what a loop was doing. A loop's first message mostly names it,
        and its first answer may name its config.
        """
        needed: set[int] = set()
        streams: set[int | None] = set()  # loops whose next line is one more piece
        first: dict[tuple[int, str], int] = {}
        for row in reversed(rows):
            is_update = row.type == "MessageUpdate"
            if not (is_update and row.loop in streams) and not self._is_known(row):
                needed.add(row.pk)
            if row.loop is not None and row.type in ("MessageEnd", "TurnEnd"):
                first[row.loop, row.type] = row.pk
            if is_update:
                streams.add(row.loop)
            else:
                streams.discard(row.loop)
        return needed | {pk for (loop, kind), pk in first.items() if self._known.is_named(loop, kind)}

    def _is_known(self, row: Row) -> bool:
        """Say whether a line need not be read, unless it names its loop's title or config."""
        if row.loop is None or self._is_retold(row):
            return self._is_retold(row)
        match row.type:
            case "MessageStart":
                return True
            case "MessageEnd":
                return row.turn is not None  # before a turn it may say how its loop ends
            case "TurnRequest":
                return row.occurred_at is not None
            case _:
                return self._known.has(row.type, row.pk, row.loop)

    def _is_retold(self, row: Row) -> bool:
        """Say whether lines before it say what it says."""
        return row.origin in ("told", "kept") and self._sources[row.producer].form != "native"

    def _may_name(self, row: Row) -> bool:
        if row.loop is None or self._is_retold(row):
            return False
        return self._known.may_name(row.type, row.loop, self._loop_of(row.producer, self._loop_id(row)))

    def _read(self, row: Row, form: str, text: bytes) -> Event:
        if form == "native" or row.origin == "read":
            try:
                return parse(text, limits=NO_LIMITS)
            except Refused:
                pass
        return self._retold(row, form)

    def _unread(self, row: Row, form: str) -> Event:
        if row.loop is None or self._is_retold(row):
            return self._retold(row, form)
        at = aware(row.occurred_at)
        if row.type == "TurnRequest" and at is not None:
            return _request(self._loop_id(row), at)
        return self._known.event(row.type, row.pk, at, row.loop)

    def _retold(self, row: Row, form: str) -> Event:
        """Return a line that only stands where it stood."""
        return made(
            SourceEvent,
            source=form,
            name=row.type,
            loop_id=self._loop_id(row) or None,
            session_id=None if row.session is None else self._names[row.session],
            timestamp=aware(row.occurred_at),
            understood=row.origin in ("told", "kept"),
        )

    def _received(self, row: Row) -> Value:
        if row.received_at != self._last[0]:  # lines that are sent together are received at once
            self._last = row.received_at, aware(row.received_at)
        return self._last[1]

    def _loop_id(self, row: Row) -> str:
        return row.loop_key if row.loop is None else self._known.loops[row.loop].loop_id


_PASSING: Mapping[str, Callable[[str], Event]] = {
    "MessageStart": lambda loop: made(MessageStart, loop_id=loop, message=None),
    "MessageUpdate": lambda loop: made(MessageUpdate, loop_id=loop, message=None, delta=None),
    "MessageEnd": lambda loop: made(MessageEnd, loop_id=loop, message=None),
}


@lru_cache(maxsize=256)
def _bare(name: str, loop_id: str) -> Event:
    return _PASSING[name](loop_id)


def _request(loop_id: str, at: datetime) -> TurnRequest:
    return made(TurnRequest, loop_id=loop_id, turn_index=0, payload=None, timestamp=at)
