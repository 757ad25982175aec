"""What some sessions were told, to be told again: lines and their producers' flushes, in recorded order.

Of most lines the recorder needs no more than that they came. Those are not read: a request repeats all that
was said before it, and streamed text stands in its message.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple, TypeAlias, cast

from recorder.core.changes import Origin
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
from recorder.journal import SOURCES
from recorder.lines import texts
from recorder.models import EventRecord, JournalEvent, Producer

# Read at once: a line is made of pieces of earlier ones, which each reading needs again; but it may be large.
LINES, BYTES = 5_000, 32 * 1024 * 1024

Flush: TypeAlias = tuple[int, datetime, int]  # producer, when, journal id
IsTitled: TypeAlias = Callable[[int, str], bool]  # a producer's loop has its title


class Row(NamedTuple):
    """A line and where it belongs."""

    pk: int
    producer: int
    received_at: datetime
    origin: str
    type: str
    loop_id: str | None
    loop_key: str
    session_id: str | None
    turn: int | None
    occurred_at: datetime | None
    size: int


COLUMNS = (
    *("pk", "journal__producer_id", "journal__received_at", "origin", "type"),
    *("loop__loop_id", "loop_key", "session__session_id", "turn_id", "occurred_at", "journal__size"),
)


def told(sessions: Collection[int], after: int, until: int, is_titled: IsTitled) -> Iterator[Line | Flush]:
    """Return lines and flushes after one event, up to another."""
    producers = {row[0]: row[1:] for row in _producers(sessions)}
    while True:
        rows = _rows(sessions, after, until)
        end = rows[-1].pk if rows else until
        flushes = _flushes(producers, after, end)
        raws = texts(_needed(rows))
        for row in rows:
            while flushes and flushes[0][2] < row.pk:
                yield flushes.pop(0)
            raw = raws.get(row.pk)
            if raw is None and _may_name(row, is_titled):
                raw = texts([row.pk])[row.pk]
            yield _line(row, raw, *producers[row.producer])
        yield from flushes
        if end == until:
            return
        after = end


def _producers(sessions: Collection[int]) -> Sequence[tuple[int, str, bool]]:
    of_sessions = EventRecord.objects.filter(session__in=sessions).values("journal__producer")
    return list(Producer.objects.filter(pk__in=of_sessions).values_list("pk", "format", "is_demo"))


def _rows(sessions: Collection[int], after: int, until: int) -> list[Row]:
    found = EventRecord.objects.filter(session__in=sessions, journal__gt=after, journal__lte=until)
    rows = [Row(*row) for row in found.order_by("journal").values_list(*COLUMNS)[:LINES]]
    sizes = accumulate(0 if _is_bare(row) else row.size for row in rows)
    return [row for row, size in zip(rows, sizes, strict=True) if size <= BYTES] or rows[:1]


def _flushes(producers: Collection[int], after: int, until: int) -> list[Flush]:
    # Only lines have numbers: the index of numbers finds the others.
    found = JournalEvent.objects.filter(producer__in=producers, seq=None, kind="flush")
    found = found.filter(pk__gt=after, pk__lte=until).order_by("pk")
    return list(found.values_list("producer_id", "received_at", "pk"))


def _needed(rows: Sequence[Row]) -> list[int]:
    """Return the lines that must be read.

    Of streamed text the last piece says what a loop was doing, and a loop's first message mostly names it.
    """
    needed: list[int] = []
    streams: set[str | None] = set()  # loops whose next line is one more piece
    first: dict[str | None, int] = {}  # messages of loops
    for row in reversed(rows):
        is_update = row.type == "MessageUpdate"
        if not (is_update and row.loop_id in streams) and not _is_bare(row):
            needed.append(row.pk)
        if row.type == "MessageEnd":
            first[row.loop_id] = row.pk
        if is_update:
            streams.add(row.loop_id)
        else:
            streams.discard(row.loop_id)
    return [*needed, *first.values()]


def _is_bare(row: Row) -> bool:
    """Say whether nothing that a line says is kept in a record, but for a prompt that names its loop."""
    if row.loop_id is None or row.origin not in ("", "read"):
        return False
    if row.type == "TurnRequest":
        return row.occurred_at is not None
    # Before a turn a message may say how its loop ends.
    return row.type == "MessageStart" or (row.type == "MessageEnd" and row.turn is not None)


def _may_name(row: Row, is_titled: IsTitled) -> bool:
    return row.type == "MessageEnd" and not is_titled(row.producer, row.loop_id or "")


def _line(row: Row, raw: bytes | None, form: str, is_demo: bool) -> Line:  # noqa: FBT001  as its row has it
    source = SOURCES.get(form, form)
    event = _unread(row) if raw is None else _event(row, raw, form)
    return Line(row.pk, row.producer, row.received_at, source, event, is_demo, cast("Origin", row.origin))


def _event(row: Row, raw: bytes, form: str) -> Event:
    """Return what a line says; a foreign one that others retell only stands where it stood."""
    if form == "native" or row.origin == "read":
        try:
            return parse(raw, limits=NO_LIMITS)
        except Refused:
            pass
    return SourceEvent.model_construct(
        source=form,
        name=row.type,
        loop_id=row.loop_id or row.loop_key or None,
        session_id=row.session_id,
        timestamp=row.occurred_at,
        understood=row.origin in ("told", "kept"),
    )


def _unread(row: Row) -> Event:
    """Return a line of which nothing is known but that it came, where and when."""
    if row.type == "TurnRequest" and row.occurred_at is not None:
        return _request(row.loop_id or "", row.occurred_at)
    return _bare(row.type, row.loop_id or "")


_BARE: Mapping[str, Callable[[str], Event]] = {
    "MessageStart": lambda loop: MessageStart.model_construct(loop_id=loop, message=None),
    "MessageUpdate": lambda loop: MessageUpdate.model_construct(loop_id=loop, message=None, delta=None),
    "MessageEnd": lambda loop: MessageEnd.model_construct(loop_id=loop, message=None),
}


@lru_cache(maxsize=256)
def _bare(name: str, loop_id: str) -> Event:
    return _BARE[name](loop_id)


def _request(loop_id: str, at: datetime) -> TurnRequest:
    return TurnRequest.model_construct(loop_id=loop_id, turn_index=0, payload=None, timestamp=at)
