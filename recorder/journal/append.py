"""Appends lines to the journal: the only module that writes lines and producers' sequence numbers.

A producer numbers its lines 0, 1, 2, ...; `high` is the last number stored. A batch that leaves out
numbers is refused whole (`Gap`); numbers up to `high` are duplicates. A duplicate with another content is a
conflict: the line is quarantined and the stored one stays. An older connection of the producer is refused
by its epoch (`Superseded`).

Each line gets an id from the table's sequence and is stored verbatim, as a delta against recent lines where
shorter. A line in a foreign format is followed by lines of kind `read`: the native events that its reader
derived.

Invariant: lines and `high` are written in one transaction under the project's lock, so what is acknowledged
is what is stored, and ids of a project ascend in commit order.

Cost: a fixed number of statements a transaction; duplicates add two queries a batch, to compare their
fingerprints.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import chain
from uuid import uuid4

from django.db import connection, transaction

from recorder.core.content.text import clean
from recorder.core.events import Event
from recorder.core.formats import ForeignLine, InvalidLineError
from recorder.core.formats.base import Fields, Translation, encode_event
from recorder.core.formats.native import NO_LIMITS, parse
from recorder.core.formats.registry import READERS, SOURCE_OF
from recorder.core.recorder import Line
from recorder.core.records import ORIGIN_DERIVED
from recorder.database import sql
from recorder.journal import producers, span_lines
from recorder.journal.batch import (
    Appended,
    Batch,
    Claimed,
    Gap,
    Mixed,
    Read,
    Receipt,
    Rejected,
    Sender,
    Superseded,
    Unstored,
)
from recorder.journal.delta.dedup_window import Encoded
from recorder.journal.delta.encoding import fingerprint
from recorder.journal.delta.window_cache import Windows
from recorder.journal.read import fingerprints
from recorder.journal.spans import SpanReader
from recorder.journal.translation import ProjectTranslator
from recorder.models import JournalEvent, Producer, QuarantinedLine

KEPT_BYTES = 64 * 1024
PATH, MESSAGE = 500, 1000

LINES = "recorder_journalevent"
COLUMNS = ("id", "producer_id", "seq", "received_at", "size", "pieces", "own")
QUARANTINE_COLUMNS = (
    "project_id", "producer_id", "seq", "code", "path", "message", "raw", "size", "received_at"
)  # fmt: skip
USED_WITHIN = timedelta(minutes=1)
LOCKS = 7_201  # first key of our PostgreSQL advisory locks; the second is the project


class Journal:
    """The journal of one project within one transaction: appended to batch by batch, then written at once."""

    def __init__(self, project: int, batches: Sequence[Batch]) -> None:
        self.project = project
        self._adapt = sql.timestamp_encoder()
        lock(project)
        names = {batch.producer for batch in batches if batch.producer}
        self._producers = {producer.name: producer for producer in producers.named(project, names)}
        wanted = sum(len(batch.lines) + batch.flush for batch in batches)
        self._ids = sql.next_ids({LINES: wanted})[LINES]
        self._rows: dict[str, sql.Values] = {"line": [], "read": [], "flush": []}  # by kind
        # By producer and number: lines that are not yet in the table.
        self._written: dict[int, dict[int, bytes]] = {}
        self._quarantined: list[tuple[sql.Value, ...]] = []
        self._translation = ProjectTranslator(project)
        self.spans = SpanReader(project)
        self._seen: dict[int, datetime] = {}
        self._windows = Windows()
        self.claimed: dict[int, int] = {}  # producer: its new epoch
        self._tokens: dict[int, datetime] = {}

    @property
    def has_quarantined(self) -> bool:
        return bool(self._quarantined)

    def append(self, read: Read) -> Appended | Unstored:
        """Add the new lines of a batch; duplicates change nothing. `write` writes the lines.

        Returns an `Unstored` instead of raising it, so that the other batches of the group succeed.
        """
        batch = read.batch
        producer = self._producer(batch)
        if batch.epoch is not None and batch.epoch < producer.epoch:
            return Superseded()
        if batch.format != producer.format:
            return Mixed(producer.name, producer.format, batch.format)
        first = producer.high + 1 if batch.first is None else batch.first
        if first > producer.high + 1:
            return Gap(producer.high + 1)
        if producer.name not in self._producers:
            producer.save()
            self._producers[producer.name] = producer
        known = min(producer.high + 1 - first, len(batch.lines))
        rejected = self._conflicts(producer, first, batch, known) if known else []
        take = span_lines.take if read.is_spans else _take
        accepted, repeated, lines = take(self, producer, first + known, read, known, rejected)
        producer.high = max(producer.high, first + len(batch.lines) - repeated - 1)
        self._seen[producer.pk] = batch.received_at
        if batch.token:
            self._tokens[batch.token] = batch.received_at
        receipt = Receipt(
            producer=producer.name,
            upto=producer.high,
            accepted=accepted,
            duplicates=repeated + known - sum(each.code == "seq_conflict" for each in rejected),
            rejected=rejected,
        )
        if batch.claim:
            receipt = self._claim(producer)
        if batch.flush and producer.format in READERS:
            events = self._translation.reader(producer).end_of_stream(batch.received_at)
            lines += self.derived_lines(self.sender(producer, batch.received_at), events)
        flush = self._flush(self.sender(producer, batch.received_at)) if batch.flush else 0
        return Appended(producer.pk, receipt, lines, batch.received_at, flush)

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
        sql.write(sql.insert("recorder_quarantinedline", QUARANTINE_COLUMNS), self._quarantined)
        self._note_tokens()
        high = {producer.pk: producer.high for producer in self._producers.values()}
        transaction.on_commit(partial(self._windows.keep, high))
        sql.write(
            "UPDATE recorder_producer SET high = %s, last_seen_at = %s WHERE id = %s",
            [(high[pk], self._adapt(at), pk) for pk, at in self._seen.items()],
        )
        note_readers(self._translation)
        self.spans.write()
        epochs = [(epoch, pk) for pk, epoch in self.claimed.items()]
        sql.write("UPDATE recorder_producer SET epoch = %s WHERE id = %s", epochs)

    def _note_tokens(self) -> None:
        """Update when tokens were last used, to the minute: one write per batch would be a hot row."""
        adapt = self._adapt
        sql.write(
            """UPDATE recorder_accesstoken SET last_used_at = %s
               WHERE id = %s AND (last_used_at IS NULL OR last_used_at < %s)""",
            [(adapt(at), token, adapt(at - USED_WITHIN)) for token, at in self._tokens.items()],
        )

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
            self._windows.of(producer.pk, producer.high, at.date()),
            self._written.setdefault(producer.pk, {}),
        )

    def line(
        self, sender: Sender, content: Event | Translation, raw: bytes, seq: int, *, repeats: str = ""
    ) -> Line:
        """Add one line as received; lines with the same `repeats` repeat most of each other."""
        line = next(self._ids)
        if isinstance(content, Translation):
            kind = ("SourceEvent", repeats) if repeats else (content.name, content.loop_id)
            stored = sender.window.store(line, raw, *kind)
            fed = sender.line(line, content.original(sender.source), content.origin)
        else:  # many events have no loop
            stored = sender.window.store(line, raw, content.type, content.__dict__.get("loop_id"))
            fed = sender.line(line, content)
        self._add(line, sender, seq, "line", len(raw), stored)
        sender.written[seq] = raw
        return fed

    def _add(self, line: int, sender: Sender, seq: int | None, kind: str, size: int, stored: Encoded) -> None:
        own, pieces = stored
        self._rows[kind] += (line, sender.key, seq, sender.stamp, size, pieces, own)

    def translated(
        self, producer: Producer, batch: Batch, foreign: ForeignLine
    ) -> Translation | InvalidLineError:
        return self._translation.understood(producer, foreign, batch.received_at)

    def derived_lines(self, sender: Sender, events: Sequence[Fields]) -> list[Line]:
        """Add the events derived from a foreign line. No delta refers to them: a rebuild may replace them."""
        if connection.vendor == "postgresql" and events:  # SQLite's keys do not end
            self._ids = chain(self._ids, sql.next_ids({LINES: len(events)})[LINES])
        found = []
        for raw in map(encode_event, events):
            line = next(self._ids)
            self._add(line, sender, None, "read", len(raw), (raw, None))
            found.append(sender.line(line, parse(raw, limits=NO_LIMITS), ORIGIN_DERIVED))
        return found

    def _flush(self, sender: Sender) -> int:
        line = next(self._ids)
        self._add(line, sender, None, "flush", 0, (b"", None))
        return line

    def _conflicts(self, producer: Producer, first: int, batch: Batch, known: int) -> list[Rejected]:
        """Return the duplicates that differ from the stored line; rejected lines were not stored."""
        stored = self._stored(producer, first, known)
        found = []
        for seq, raw in enumerate(batch.lines[:known], start=first):
            if seq in stored and stored[seq] != fingerprint(raw):
                refused = Rejected(seq, "seq_conflict", "", "another line is stored under this number")
                found.append(refused)
                if not self._is_quarantined(producer, seq, raw):
                    self.quarantine(producer, refused, batch, raw)
        return found

    def _stored(self, producer: Producer, first: int, number: int) -> dict[int, bytes]:
        rows = sql.read(
            "SELECT seq, id FROM recorder_journalevent WHERE producer_id = %s AND seq BETWEEN %s AND %s",
            *(producer.pk, first, first + number - 1),
        )
        prints = fingerprints([line for _, line in rows])
        stored = {seq: prints[line] for seq, line in rows}
        pending = self._written.get(producer.pk, {})
        return stored | {
            seq: fingerprint(pending[seq]) for seq in range(first, first + number) if seq in pending
        }

    def _is_quarantined(self, producer: Producer, seq: int, raw: bytes) -> bool:
        kept = raw[:KEPT_BYTES]
        return QuarantinedLine.objects.filter(producer=producer, seq=seq, size=len(raw), raw=kept).exists()

    def quarantine(self, producer: Producer, refused: Rejected, batch: Batch, raw: bytes) -> None:
        path, message = clean(refused.path, PATH), clean(refused.message, MESSAGE)
        at = self._adapt(batch.received_at)
        about = (self.project, producer.pk, refused.seq, refused.code, path, message)
        self._quarantined.append((*about, raw[:KEPT_BYTES], len(raw), at))


def _take(
    journal: Journal, producer: Producer, first: int, read: Read, known: int, rejected: list[Rejected]
) -> tuple[int, int, list[Line]]:
    """Add new lines; return how many were accepted and repeated, and the lines to feed to the recorder."""
    batch, lines, accepted = read.batch, [], 0
    sender = journal.sender(producer, batch.received_at)
    fresh = zip(batch.lines[known:], read.parsed[known:], strict=True)
    for seq, (raw, parsed) in enumerate(fresh, start=first):
        content = journal.translated(producer, batch, parsed) if isinstance(parsed, ForeignLine) else parsed
        if isinstance(content, InvalidLineError):
            refused = Rejected(seq, content.code, content.path, content.message)
            rejected.append(refused)
            journal.quarantine(producer, refused, batch, raw)
            continue
        if isinstance(content, Translation):
            lines += journal.derived_lines(sender, content.events)
        elif content.type == "Unread":
            journal.quarantine(producer, _broken(seq, content.traceback), batch, raw)
        lines.append(journal.line(sender, content, raw, seq))
        accepted += 1
    return accepted, 0, lines


def _broken(seq: int, traceback: str) -> Rejected:
    """Return the message for a line that is stored unparsed because a bug of the recorder broke on it."""
    message = f"a bug of ours, traceback {traceback}: the line may be right, and is kept"
    return Rejected(seq, "our_bug", "", message)


def note_readers(translation: ProjectTranslator) -> None:
    """Save the state of the readers of foreign lines."""
    sql.write(
        "UPDATE recorder_producer SET reading = %s WHERE id = %s",
        [(json.dumps(state, separators=(",", ":")), pk) for pk, state in translation.states()],
    )


def read_anew(entry: JournalEvent, keys: list[int], raws: Sequence[bytes]) -> list[int]:
    """Replace the events derived from a foreign line by `raws`; return their ids."""
    JournalEvent.objects.filter(pk__in=keys).delete()
    if len(keys) != len(raws):
        ids = sql.next_ids({LINES: len(raws)})[LINES]
        keys = [next(ids) for _ in raws]
    at = sql.timestamp_encoder()(entry.received_at)
    rows: sql.Values = []
    for key, raw in zip(keys, raws, strict=True):
        rows += (key, entry.producer_id, None, at, len(raw), None, raw)
    sql.insert_all(LINES, {"project_id": entry.project_id, "kind": "read"}, COLUMNS, rows)
    return keys


def lock(project: int) -> None:
    """Serialize the writers of a project until the transaction ends; SQLite has one writer anyway.

    Raises LookupError if the project does not exist (SQLite only: PostgreSQL checks its foreign keys).
    """
    if connection.vendor == "postgresql":
        sql.read("SELECT 1 FROM pg_advisory_xact_lock(%s, %s)", LOCKS, project)
    elif not sql.read("SELECT 1 FROM recorder_project WHERE id = %s", project):
        raise LookupError(f"there is no project {project}")  # the connection that writes checks no keys


def forget_demo(project: int) -> None:
    """Delete the demo's producers and all that they sent."""
    demo = Producer.objects.filter(project_id=project, is_demo=True)
    QuarantinedLine.objects.filter(producer__in=demo).delete()
    JournalEvent.objects.filter(producer__in=demo).delete()
    demo.delete()


def mark_consolidated(ids: Collection[int], at: datetime) -> None:
    """Mark lines as consolidated into insights: from then on their bodies may be pruned."""
    statement = f"UPDATE {LINES} SET consolidated_at = %s WHERE consolidated_at IS NULL AND "  # noqa: S608
    sql.write(statement + sql.in_list("id"), [(sql.timestamp_encoder()(at), sql.list_param(ids))])
