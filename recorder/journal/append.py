"""Appends lines to the journal: the only module that adds lines to it.

A producer numbers its lines 0, 1, 2, ...; `high` is the last number stored. A batch that leaves out
numbers is refused whole (`Gap`); numbers up to `high` are duplicates. A duplicate with another content is a
conflict: the line is quarantined and the stored one stays. An older connection of the producer is refused
by its epoch (`Superseded`).

Each line gets an id from the table's sequence. It is stored byte for byte as masking left it, as a delta
against recent lines where shorter. A line in a foreign format is followed by lines of kind `read`: the native
events that its reader derived.

Invariant: lines and `high` are written in one transaction under the project's lock, so what is acknowledged
is what is stored, and ids of a project ascend in commit order.

Cost: a fixed number of statements a transaction; duplicates add three queries a batch, to compare their
marks.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import partial
from itertools import chain
from uuid import uuid4

from django.db import connection, transaction

from recorder.core.events import Event
from recorder.core.formats import ForeignLine, InvalidLineError
from recorder.core.formats.base import Fields, Translation, encode_event
from recorder.core.formats.native import NO_LIMITS, parse
from recorder.core.formats.registry import READERS, SETTLED, SOURCE_OF
from recorder.core.recorder import JournalLine
from recorder.core.records import ORIGIN_DERIVED
from recorder.database import sql
from recorder.database.project_lock import lock
from recorder.journal import conflicts, producers
from recorder.journal.batch import (
    Appended,
    AppendedLines,
    Batch,
    Claimed,
    Closed,
    Dropped,
    Gap,
    Mixed,
    Read,
    Receipt,
    Received,
    Rejected,
    Sender,
    Superseded,
    Unstored,
)
from recorder.journal.delta.dedup_window import Encoded
from recorder.journal.delta.window_cache import Windows
from recorder.journal.quarantine import Quarantine
from recorder.journal.read import COLUMNS, LINES, texts
from recorder.journal.spans import lines as span_lines
from recorder.journal.spans.reader import SpanReader
from recorder.journal.spans.transcript_times import TranscriptTimes
from recorder.journal.streams.open_streams import OpenStreams
from recorder.journal.tombstones import Tombstones
from recorder.journal.translation import ProjectTranslator
from recorder.masking.counts import MaskCounts, rules_in
from recorder.masking.masker import Masker
from recorder.models import Producer


class Journal:
    """The journal of one project within one transaction: appended to batch by batch, then written at once."""

    def __init__(self, project: int, batches: Sequence[Batch], masker: Masker) -> None:
        self.project = project
        self.masker = masker
        self._adapt = sql.timestamp_encoder()
        lock(project)
        names = {batch.producer for batch in batches if batch.producer}
        self._producers = {producer.name: producer for producer in producers.named(project, names)}
        wanted = sum(len(batch.lines) + batch.flush for batch in batches)
        self._ids = sql.next_ids({LINES: wanted})[LINES]
        self._rows: dict[str, sql.Values] = {"line": [], "read": [], "flush": []}  # by kind
        # By producer and number: lines that may not be in the table yet, as they came from the pipeline.
        self.written: dict[int, dict[int, bytes]] = {}
        self.quarantine = Quarantine(project, masker)
        times = TranscriptTimes(project)
        self.tombstones = Tombstones(project)
        self.spans = SpanReader(project, times, self.tombstones)
        self.translation = ProjectTranslator(project, times, self.tombstones, masker)
        self.streams = OpenStreams(project, masker)
        self._masks = MaskCounts(project, masker.rules)
        self._seen: dict[int, datetime] = {}
        self._windows = Windows()
        self.claimed: dict[int, int] = {}  # producer: its new epoch
        self._tokens: dict[int, tuple[datetime, str]] = {}  # when and from which address

    @property
    def has_quarantined(self) -> bool:
        return self.quarantine.has_lines

    def append(self, read: Read) -> Appended | Unstored:
        """Add the new lines of a batch; duplicates change nothing. `write` writes the lines.

        Returns an `Unstored` instead of raising it, so that the other batches of the group succeed.
        """
        batch = read.batch
        producer = self._producer(batch)
        if (refused := self._refused(batch, producer)) is not None:
            return refused
        first = producer.high + 1 if batch.first is None else batch.first
        if first > producer.high + 1:
            return Gap(producer.high + 1)
        if producer.name not in self._producers:
            producer.save()
            self._producers[producer.name] = producer
        known = min(producer.high + 1 - first, len(batch.lines))
        rejected = conflicts.reject(self, producer, first, batch, known) if known else []
        append_lines = span_lines.append if read.is_spans else _append_lines
        appended = append_lines(self, producer, first + known, read, known, rejected)
        producer.high = max(producer.high, first + len(batch.lines) - appended.repeated - 1)
        self._seen[producer.pk] = batch.received_at
        if batch.token:
            self._tokens[batch.token] = batch.received_at, batch.address
        receipt = Receipt(
            producer=producer.name,
            upto=producer.high,
            accepted=appended.accepted,
            dropped=appended.dropped,
            duplicates=appended.repeated + known - sum(each.code == "seq_conflict" for each in rejected),
            rejected=rejected,
        )
        if batch.claim:
            receipt = self._claim(producer)
        if batch.flush and producer.format in READERS:
            appended.lines += self._end_of_stream(producer, batch.received_at)
        flush = self._flush(self.sender(producer, batch.received_at)) if batch.flush else 0
        is_settled = batch.flush and producer.format in SETTLED
        return Appended(producer.pk, receipt, appended.lines, batch.received_at, flush, is_settled)

    def _refused(self, batch: Batch, producer: Producer) -> Unstored | None:
        if self.tombstones.is_gone:
            return Closed("deleted")
        if self.tombstones.is_archived and not batch.waited:  # a body that waits was acknowledged before
            return Closed("archived")
        if batch.epoch is not None and batch.epoch < producer.epoch:
            return Superseded()
        is_same = batch.format == producer.format
        return None if is_same else Mixed(producer.name, producer.format, batch.format)

    def _end_of_stream(self, ending: Producer, at: datetime) -> list[JournalLine]:
        """Add the events that the end of a stream derives, for its producer and for others."""
        self.write_lines()
        lines: list[JournalLine] = []
        for of, events in self.translation.end_of_stream(ending, at):
            producer = self._producers.setdefault(of.name, of)
            lines += self.derived_lines(self.sender(producer, at), events)
        return lines

    def _claim(self, producer: Producer) -> Claimed:
        producer.epoch += 1
        self.claimed[producer.pk] = producer.epoch
        return Claimed(producer.name, producer.high, key=producer.pk, epoch=producer.epoch)

    def write_lines(self) -> None:
        """Write the lines appended so far; `write` does this too."""
        for kind, rows in self._rows.items():
            sql.insert_all(LINES, {"project_id": self.project, "kind": kind}, COLUMNS, rows)
            rows.clear()

    def write(self) -> None:
        """Write the lines, the quarantine and the state of the producers."""
        self.write_lines()
        self.quarantine.write()
        producers.note_tokens(self._tokens)
        high = {producer.pk: producer.high for producer in self._producers.values()}
        transaction.on_commit(partial(self._windows.keep, high))
        sql.write(
            "UPDATE recorder_producer SET high = %s, last_seen_at = %s WHERE id = %s",
            [(high[pk], self._adapt(at), pk) for pk, at in self._seen.items()],
        )
        self.translation.write()
        self.spans.write()
        self.streams.write(self._seen)
        self._masks.write()
        self.tombstones.write()
        epochs = [(epoch, pk) for pk, epoch in self.claimed.items()]
        sql.write("UPDATE recorder_producer SET epoch = %s WHERE id = %s", epochs)

    def _producer(self, batch: Batch) -> Producer:
        name = batch.producer or str(uuid4())
        return self._producers.get(name) or Producer(
            project_id=self.project,
            name=name,
            format=batch.format,
            is_demo=batch.is_demo,
            machine=batch.machine,
        )

    def sender(self, producer: Producer, at: datetime) -> Sender:
        return Sender(
            producer.pk,
            at,
            self._adapt(at),
            SOURCE_OF.get(producer.format, producer.format),
            producer.is_demo,
            self._windows.of(producer.pk, producer.high, at.date(), producer.deletions),
            self.written.setdefault(producer.pk, {}),
        )

    def line(
        self,
        sender: Sender,
        content: Event | Translation,
        raw: bytes,
        seq: int,
        *,
        received: Received | None = None,
        repeats: str = "",
    ) -> JournalLine:
        """Add one masked line; lines with the same `repeats` repeat most of each other."""
        line = next(self._ids)
        if isinstance(content, Translation):
            kind = ("SourceEvent", repeats) if repeats else (content.name, content.loop_id)
            stored = sender.window.store(line, raw, *kind)
            fed = sender.line(line, content.original(sender.source), content.origin)
        else:  # many events have no loop
            stored = sender.window.store(line, raw, content.type, content.__dict__.get("loop_id"))
            fed = sender.line(line, content)
        self._add(line, sender, seq, raw, stored, received.original if received else None)
        sender.written[seq] = raw
        return fed

    def _add(
        self,
        line: int,
        sender: Sender,
        seq: int | None,
        raw: bytes,
        stored: Encoded,
        original: bytes | None = None,
        *,
        kind: str = "line",
    ) -> None:
        own, pieces = stored
        masks = rules_in(raw)
        if masks and kind == "line" and not sender.is_demo:
            self._masks.add(masks, sender.received_at)
        self._rows[kind] += (
            *(line, sender.key, seq, sender.stamp, len(raw)),
            *(len(masks) or None, original, pieces, own),
        )

    def translated(
        self, producer: Producer, batch: Batch, foreign: ForeignLine
    ) -> Translation | InvalidLineError | Dropped:
        # Passed and not kept: a cycle of references would hold all lines until the garbage collector runs.
        return self.translation.understood(producer, foreign, batch.received_at, self._withdrawn)

    def _withdrawn(self, units: Sequence[int]) -> list[Fields]:
        return self.spans.new_events_of_units(units, self.stored)

    def stored(self, line: int) -> bytes:
        """Return a line by its journal id, also one of this transaction."""
        self.write_lines()
        return texts([line])[line]

    def derived_lines(self, sender: Sender, events: Sequence[Fields]) -> list[JournalLine]:
        """Add the events derived from a foreign line. No delta refers to them: a rebuild may replace them."""
        if connection.vendor == "postgresql" and events:  # SQLite's keys do not end
            self._ids = chain(self._ids, sql.next_ids({LINES: len(events)})[LINES])
        found = []
        for event in events:
            raw = self.masker.mask(encode_event(event)).line  # it may join what several lines had in parts
            line = next(self._ids)
            self._add(line, sender, None, raw, (raw, None), kind="read")
            found.append(sender.line(line, parse(raw, limits=NO_LIMITS), ORIGIN_DERIVED))
        return found

    def _flush(self, sender: Sender) -> int:
        self.streams.end_of_stream(sender.key)
        line = next(self._ids)
        self._add(line, sender, None, b"", (b"", None), kind="flush")
        return line


def _append_lines(
    journal: Journal, producer: Producer, first: int, read: Read, known: int, rejected: list[Rejected]
) -> AppendedLines:
    """Append new lines to the journal; return the counts and the lines for the recorder."""
    batch, appended = read.batch, AppendedLines()
    tombstones = journal.tombstones
    sender = journal.sender(producer, batch.received_at)
    journal.streams.load(producer, read.parsed[known:])
    journal.translation.load(producer, read.parsed[known:])
    tombstones.load_events(producer.pk, read.parsed[known:])
    fresh = zip(range(known, len(batch.lines)), batch.lines[known:], read.parsed[known:], strict=True)
    for seq, (place, sent, parsed) in enumerate(fresh, start=first):
        raw, received = sent, batch.received.get(place)
        content: Event | Translation | InvalidLineError | Dropped
        if isinstance(parsed, ForeignLine):
            raw, foreign, received = journal.streams.take_foreign(producer, sent, parsed, received)
            content = journal.translated(producer, batch, foreign)
        else:
            content = parsed
        if tombstones.any and (dropped := tombstones.dropped(producer.pk, content)):
            tombstones.count(dropped, producer.pk)
            appended.dropped += 1
            continue
        assert not isinstance(content, Dropped)
        if isinstance(content, InvalidLineError):
            refused = Rejected(seq, content.code, content.path, content.message)
            rejected.append(refused)
            journal.quarantine.add(producer, refused, batch, raw)
            continue
        if isinstance(content, Translation):
            appended.lines += journal.derived_lines(sender, content.events)
        else:
            if content.type == "Unread":
                journal.quarantine.add(producer, Rejected.unread(seq, content.traceback), batch, raw)
            raw, content, received = journal.streams.take(producer, raw, content, received)
        appended.lines.append(journal.line(sender, content, raw, seq, received=received))
        sender.written[seq] = sent  # by which a repetition is recognised: it is not masked across lines
        appended.accepted += 1
    return appended


def mark_consolidated(ids: Collection[int], at: datetime) -> None:
    """Mark lines as consolidated into insights: from then on their bodies may be pruned."""
    statement = f"UPDATE {LINES} SET consolidated_at = %s WHERE consolidated_at IS NULL AND "  # noqa: S608
    sql.write(statement + sql.in_list("id"), [(sql.timestamp_encoder()(at), sql.list_param(ids))])
