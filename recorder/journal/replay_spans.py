"""Replays batches of spans: the lines of a producer that were received at the same time.

The events derived from a batch precede its lines in the journal. They are derived again by the current rules,
and replaced where these give others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from recorder.core.formats import ForeignLine, InvalidLineError
from recorder.core.formats.base import Fields, encode_event
from recorder.core.formats.base import parse as parse_foreign
from recorder.core.formats.native import NO_LIMITS, parse
from recorder.core.formats.registry import SOURCE_OF
from recorder.core.recorder import Line
from recorder.core.records import ORIGIN_DERIVED
from recorder.journal import append
from recorder.journal.read import texts
from recorder.journal.spans import SpanLine, SpanReader, forget
from recorder.models import JournalEvent

Entry = tuple[JournalEvent, bytes]  # a row, and its line


class SpanReplay:
    """Reads the batches of spans of one project again, from the first one."""

    def __init__(self, project: int) -> None:
        self.unreadable = 0
        self._project = project
        self._has_begun = False
        self._derived: list[Entry] = []
        self._batch: list[Entry] = []

    def add(self, entry: JournalEvent, raw: bytes) -> Iterator[Line]:
        """Add a row; yield the lines of the batch before it, if it begins another one."""
        if self._batch and (entry.kind == "read" or entry.received_at != self._batch[-1][0].received_at):
            yield from self.rest()
        (self._derived if entry.kind == "read" else self._batch).append((entry, raw))

    def rest(self) -> Iterator[Line]:
        """Yield the lines of the batch that was added last."""
        batch, derived, self._batch, self._derived = self._batch, self._derived, [], []
        if not batch:
            self._derived = derived  # the rows of a batch whose lines are still to come
            return
        if not self._has_begun:
            forget(self._project)
            self._has_begun = True
        reader = SpanReader(self._project)
        found = reader.read([_parsed(raw) for _, raw in batch], [raw for _, raw in batch])
        self.unreadable += sum(isinstance(each, InvalidLineError) for each in found)
        lines = [line for line in found if isinstance(line, SpanLine)]
        for line in lines:
            reader.note_line(line, batch[line.place][0].pk)
        first = batch[0][0]
        events = reader.new_events(lines, first.received_at, lambda pk: texts([pk])[pk])
        yield from events_again(first, events, derived)
        for line in lines:
            entry = batch[line.place][0]
            translation, head = reader.translation(line), about(entry)
            yield Line(*head, translation.original(head[-1]), entry.producer.is_demo, translation.origin)
        reader.write()


def _parsed(raw: bytes) -> ForeignLine | InvalidLineError:
    try:
        return parse_foreign(raw, limits=NO_LIMITS)
    except InvalidLineError as error:
        return error.without_traceback()


def events_again(entry: JournalEvent, events: Sequence[Fields], stored: Sequence[Entry]) -> Iterator[Line]:
    """Yield the events derived from a line; rows that differ from those stored are replaced."""
    raws = [encode_event(event) for event in events]
    keys = [row.pk for row, _ in stored]
    if [raw for _, raw in stored] != raws:
        keys = append.read_anew(entry, keys, raws)
    for key, raw in zip(keys, raws, strict=True):
        event = parse(raw, limits=NO_LIMITS)
        yield Line(key, *about(entry)[1:], event, entry.producer.is_demo, ORIGIN_DERIVED)


def about(entry: JournalEvent) -> tuple[int, int, datetime, str]:
    """Return id, producer, time of arrival and source of a row."""
    source = SOURCE_OF.get(entry.producer.format, entry.producer.format)
    return entry.pk, entry.producer_id, entry.received_at, source
