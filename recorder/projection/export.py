"""Exports of a session: as phi-core would save it, or as its recorded lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TypeVar, cast

from recorder.core.formats.base import strip_sse_framing
from recorder.core.formats.native import NO_LIMITS, read_object
from recorder.core.phi_session.schema import LoopObject, SessionObject
from recorder.core.phi_session.writer import Entry, RecordedLoop, loop_object, session_object
from recorder.core.records import ChildRef, Compaction, EventRecord, Group, Loop, ModelConfig, Record, Turn
from recorder.core.records import Session as SessionRecord
from recorder.database.row_mapper import Kind, table
from recorder.journal.read import Pruned, pruned, texts
from recorder.models import EventRecord as EventRow
from recorder.models import Session

R = TypeVar("R", bound=Record)
_LOOPS = "SELECT id FROM recorder_looprecord WHERE session_id = %s"
LINES = 50  # read at once: a line may have megabytes


def phi_session(session: Session) -> SessionObject:
    """Return a session as the object of phi-core's session files. Raises Pruned."""
    return _Export(session.pk).object()


def phi_loop(session: Session, loop: int) -> LoopObject:
    """Return one loop as the object in phi-core's session files. Raises Pruned."""
    return _Export(session.pk).one(loop)


def phi_text(session: Session) -> str:
    """Return that object as JSON that can be written as UTF-8. Raises Pruned or RecursionError."""
    made = phi_session(session)
    try:
        text = json.dumps(made, indent=2, ensure_ascii=False)
    except RecursionError:  # Python indents with more recursion than it writes
        text = json.dumps(made, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which only an escape can carry
        return json.dumps(made, indent=2)
    return text


def raw_lines(session: Session) -> Iterator[bytes]:
    """Yield the session's lines byte for byte, in recorded order, a few at a time. Raises Pruned."""
    if session.pruned_on is not None:
        raise Pruned(session.pruned_on)
    rows = EventRow.objects.filter(session=session).order_by("pk").values_list("pk", flat=True)
    last = 0
    while batch := list(rows.filter(pk__gt=last)[:LINES]):
        last = batch[-1]
        yield from texts(batch).values()


def recorded_loops(
    session: Session,
) -> tuple[list[Loop], list[ChildRef], Callable[[Loop], RecordedLoop]]:
    """Return the loops of a session, its references to sub-agents, and a function that reads one loop.

    The function raises Pruned.
    """
    if session.pruned_on is not None:
        raise Pruned(session.pruned_on)
    export = _Export(session.pk)
    return export.loops, export.refs(), export.recorded_loop


class _Export:
    """The records of one session, linked to each other."""

    def __init__(self, session: int) -> None:
        self.known: dict[tuple[type[Record], int], Record] = {}
        (self.session,) = self._read(SessionRecord, "WHERE r.id = %s", session)
        loops = "SELECT config_id FROM recorder_looprecord WHERE session_id = %s"
        self._read(ModelConfig, f"WHERE r.id IN ({loops})", session)
        self._read(Group, "WHERE r.session_id = %s", session)
        self.loops = self._read(Loop, "WHERE r.session_id = %s", session)
        for record in list(self.known.values()):
            self._link(record)

    def object(self) -> SessionObject:
        return session_object(self.session, self.loops, self.recorded_loop)

    def one(self, pk: int) -> LoopObject:
        (found,) = (loop for loop in self.loops if loop.id == pk)
        return loop_object(self.recorded_loop(found), self.loops)

    def refs(self) -> list[ChildRef]:
        refs = self._read(ChildRef, f"WHERE r.loop_id IN ({_LOOPS})", self.session.id)
        for ref in refs:
            self._link(ref)
        return refs

    def recorded_loop(self, loop: Loop) -> RecordedLoop:
        turns = self._of(Turn, loop)
        return RecordedLoop(
            loop, turns, self._of(ChildRef, loop), self._of(Compaction, loop), list(self._entries(loop))
        )

    def _entries(self, loop: Loop) -> Iterator[Entry]:
        """Yield the events of a loop without streamed updates, whose text is also in the final message."""
        records = self._of(EventRecord, loop, "AND r.type <> 'MessageUpdate'")
        keys = [record.id for record in records]
        lines = texts(keys)
        if len(lines) < len(keys) and (day := pruned(keys)) is not None:
            raise Pruned(day)
        for record in records:
            yield Entry(record, read_object(strip_sse_framing(lines[record.id]), NO_LIMITS))

    def _of(self, kind: type[R], loop: Loop, also: str = "") -> list[R]:
        records = self._read(kind, f"WHERE r.loop_id = %s {also}", loop.id)
        for record in records:
            self._link(record)
        return records

    def _read(self, kind: type[R], where: str, *values: int) -> list[R]:
        records = table(cast("Kind", kind)).select(where, *values)
        self.known.update(((type(record), record.id), record) for record in records)
        return cast("list[R]", records)

    def _link(self, record: Record) -> None:
        """Put records in the place of primary keys; one of another session stays out."""
        for name, kind in table(type(record)).links.items():
            setattr(record, name, self.known.get((kind, getattr(record, name))))
