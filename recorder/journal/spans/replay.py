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
from recorder.core.recorder import JournalLine
from recorder.core.records import ORIGIN_DERIVED
from recorder.database import sql
from recorder.journal.read import COLUMNS, LINES, texts
from recorder.journal.spans.reader import SpanLine, SpanReader
from recorder.journal.spans.transcript_times import TranscriptTimes
from recorder.masking.counts import masks_in
from recorder.masking.project_rules import masker_of
from recorder.models import JournalEvent

Entry = tuple[JournalEvent, bytes]  # a row, and its line


class SpanReplay:
    """Reads the batches of spans of one project again, from the first one."""

    def __init__(self, project: int) -> None:
        self.unreadable = 0
        self.times = TranscriptTimes(project)
        self._project = project
        self._derived: list[Entry] = []
        self._batch: list[Entry] = []

    def add(self, entry: JournalEvent, raw: bytes) -> Iterator[JournalLine]:
        """Add a row; yield the lines of the batch before it, if it begins another one."""
        if self._batch and (entry.kind == "read" or entry.received_at != self._batch[-1][0].received_at):
            yield from self.rest()
        (self._derived if entry.kind == "read" else self._batch).append((entry, raw))

    def rest(self) -> Iterator[JournalLine]:
        """Yield the lines of the batch that was added last."""
        batch, derived, self._batch, self._derived = self._batch, self._derived, [], []
        if not batch:
            self._derived = derived  # the rows of a batch whose lines are still to come
            return
        reader = SpanReader(self._project, self.times)
        found = reader.read([_parsed(raw) for _, raw in batch], [raw for _, raw in batch])
        self.unreadable += sum(isinstance(each, InvalidLineError) for each in found)
        lines = [line for line in found if isinstance(line, SpanLine)]
        for line in lines:
            reader.note_line(line, batch[line.place][0].pk)
        first = batch[0][0]
        events = reader.new_events(lines, first.received_at, _text)
        yield from events_again(first, events, derived)
        for line in lines:
            entry = batch[line.place][0]
            translation, head = reader.translation(line), about(entry)
            yield JournalLine(
                *head, translation.original(head[-1]), entry.producer.is_demo, translation.origin
            )
        reader.write()

    def withdrawn(self, units: Sequence[int]) -> list[Fields]:
        """Return the events that withdraw loops of some units because a transcript covers them."""
        reader = SpanReader(self._project, self.times)
        events = reader.new_events_of_units(units, _text)
        reader.write()
        return events


def _text(line: int) -> bytes:
    return texts([line])[line]


def _parsed(raw: bytes) -> ForeignLine | InvalidLineError:
    try:
        return parse_foreign(raw, limits=NO_LIMITS)
    except InvalidLineError as error:
        return error.without_traceback()


def events_again(
    entry: JournalEvent, events: Sequence[Fields], stored: Sequence[Entry]
) -> Iterator[JournalLine]:
    """Yield the events derived from a line; rows that differ from those stored are replaced."""
    raws = [encode_event(event) for event in events]
    keys = [row.pk for row, _ in stored]
    if [raw for _, raw in stored] != raws:
        masker = masker_of(entry.project_id)
        raws = [masker.mask(raw).line for raw in raws]
    if [raw for _, raw in stored] != raws:
        keys = _read_anew(entry, keys, raws)
    for key, raw in zip(keys, raws, strict=True):
        event = parse(raw, limits=NO_LIMITS)
        yield JournalLine(key, *about(entry)[1:], event, entry.producer.is_demo, ORIGIN_DERIVED)


def about(entry: JournalEvent) -> tuple[int, int, datetime, str]:
    """Return id, producer, time of arrival and source of a row."""
    source = SOURCE_OF.get(entry.producer.format, entry.producer.format)
    return entry.pk, entry.producer_id, entry.received_at, source


def _read_anew(entry: JournalEvent, keys: list[int], raws: Sequence[bytes]) -> list[int]:
    """Replace the events derived from a foreign line by `raws`; return their ids."""
    JournalEvent.objects.filter(pk__in=keys).delete()
    if len(keys) != len(raws):
        ids = sql.next_ids({LINES: len(raws)})[LINES]
        keys = [next(ids) for _ in raws]
    at = sql.timestamp_encoder()(entry.received_at)
    rows: sql.Values = []
    for key, raw in zip(keys, raws, strict=True):
        rows += (key, entry.producer_id, None, at, len(raw), masks_in(raw) or None, None, None, raw)
    sql.insert_all(LINES, {"project_id": entry.project_id, "kind": "read"}, COLUMNS, rows)
    return keys
