"""Spans that are acknowledged and not yet read.

To read a span takes ten times as long as to store it. So under load the lines of a body that cannot be
rejected are masked, stored in one row of `WaitingSpans`, and acknowledged; they are read in turn by project
and token (`fair_queue`) when nothing else is to be written, and from `LAG_S` on beside it. The transaction
that reads a body deletes its row. A small body that comes alone while none wait is read at once.

A row notes that reading it was begun. One that an ended process had begun is read alone; if that is not
finished either, or fails, or takes too long, the row is set aside: see `faults`.

Invariant: an acknowledged body is in this table or in the journal. Reading one twice changes nothing, as
known spans are duplicates: two nodes may read the same row.

Cost: storing is one statement a group, reading a further small commit a portion; the lines of waiting bodies
are not held in memory.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from math import inf
from time import monotonic
from typing import cast

from django.db import connection, transaction

from recorder.core.sources import OTLP
from recorder.database import sql
from recorder.database.errors import STORE_ERRORS, Busy, StoreError, raise_as_store_error
from recorder.ingest.commit import unreadable_spans
from recorder.ingest.commit.fair_queue import FairQueue, WaitingRow
from recorder.ingest.commit.unreadable_spans import TABLE
from recorder.journal.batch import Batch, Receipt
from recorder.journal.identity import masked
from recorder.masking.project_rules import masker_of

COLUMNS = ("id", "project_id", "token", "address", "is_demo", "received_at", "size", "lines")
PRODUCER = "otlp"  # of all spans of a project: they are numbered in the order of their reading
WAITING_BYTES = 256 * 1024 * 1024  # beyond it bodies are read before they are acknowledged
ROW_COST = 512  # estimated memory of a waiting row, in bytes
ALONE_BYTES = 64 * 1024  # a body up to this size is read at once if no other waits
PORTION_BYTES = 128 * 1024  # read in one transaction, or a single body
IDLE_S = 0.05  # without a batch
LAG_S = 10.0
REST_S = 0.25  # between two portions while batches come
RETRY_S = 1.0  # after the store was busy
ABANDONED_S = 30.0  # then the rows of a node that has ended are read by another one


class Backlog:
    """The rows to be read by this process. Used by the writer thread; figures may be read by any."""

    def __init__(self) -> None:
        self._rows = FairQueue()
        self._portion: list[WaitingRow] = []  # whose bodies `next` returned
        self._found: list[int] = []  # keys of these bodies
        self._worked_at = self._read_at = self._search_at = self._rest_until = 0.0
        self._hurry_until = 0.0
        self._has_searched = False
        self.bytes = 0
        self.newest = 0  # greatest key of a row so far

    def oldest_s(self, project: int | None = None) -> float:
        """Return how many seconds the oldest body of a project, or of all, has waited; 0 if none waits."""
        since = self._rows.oldest_since(project)
        return 0.0 if since is None else monotonic() - since

    def has(self, project: int, until: int) -> bool:
        """Return whether a body of a project with a key up to `until` waits."""
        return self._rows.has(project, until)

    def chosen(self, batches: Sequence[Batch | None]) -> list[int]:
        """Return the places of the batches that are stored now and read later."""
        able = [place for place, batch in enumerate(batches) if batch is not None and batch.may_wait]
        size = sum(batch.size for batch in batches if batch is not None and batch.may_wait)
        is_alone = not self._rows and len(able) == 1 and size <= ALONE_BYTES
        return [] if is_alone or self.bytes + size > WAITING_BYTES else able

    def store(self, batches: Sequence[Batch]) -> list[Receipt]:
        """Store batches and return their receipts. Raises Busy or StoreError; nothing is stored then."""
        adapt = sql.timestamp_encoder()
        try:
            with transaction.atomic():
                maskers = {project: masker_of(project) for project in {batch.project for batch in batches}}
                batches = [masked(batch, maskers[batch.project]) for batch in batches]
                keys = sql.next_ids({TABLE: len(batches)})[TABLE]
                rows = [(next(keys), *_columns(batch, adapt(batch.received_at))) for batch in batches]
                sql.write(sql.insert(TABLE, COLUMNS), rows)
        except STORE_ERRORS as error:
            raise_as_store_error(error)
            raise
        now = monotonic()
        for row, batch in zip(rows, batches, strict=True):
            self._add(WaitingRow(row[0], batch.project, batch.token, batch.size, now))
        return [Receipt(PRODUCER, -1, accepted=len(batch.lines), is_unread=True) for batch in batches]

    def next(self) -> list[Batch]:
        """Return the bodies whose turn it is, and note that reading them has begun.

        `done` forgets them. Raises Busy or StoreError.
        """
        self._portion = self._rows.portion(PORTION_BYTES)
        keys = [row.key for row in self._portion]
        columns = "id, project_id, token, address, is_demo, received_at, lines"
        statement = f"SELECT {columns} FROM {TABLE} WHERE {sql.in_list('id')} ORDER BY id"  # noqa: S608
        try:
            found = sql.read(statement, sql.list_param(keys))
            unreadable_spans.note_begun([row.key for row in self._portion if not row.is_noted])
        except STORE_ERRORS as error:
            raise_as_store_error(error)
            raise
        for row in self._portion:
            row.is_noted = True
        batches = [as_batch(*row) for row in found]
        self._found = [batch.waited for batch in batches]
        return batches

    def done(self, answers: Sequence[object]) -> None:
        """Forget the bodies of the last portion, unless the store was busy: then they are read again.

        A body that cannot be read is set aside.
        """
        if any(isinstance(answer, Busy) for answer in answers):
            self._unnote()
            self.rest()
            return
        for key, answer in zip(self._found, answers, strict=False):
            if isinstance(answer, Exception):
                self._set_aside(key, unreadable_spans.of_error(answer))
        self._forget()

    def took_too_long(self, limit_s: float) -> None:
        """Set the body of the last portion aside; of several each is read alone the next time."""
        if len(self._portion) > 1:
            for row in self._portion:
                row.begun = max(row.begun, 1)
            return
        for row in self._portion:
            self._set_aside(row.key, f"Reading it took longer than {limit_s:g} s.")
        self._forget()

    def _forget(self) -> None:
        self._read_at = monotonic()
        self._rows.remove(self._portion)
        self.bytes -= sum(row.size + ROW_COST for row in self._portion)
        self._portion, self._found = [], []

    def _unnote(self) -> None:
        """Note that reading the last portion has not begun: its bodies are not why it did not end."""
        try:
            unreadable_spans.note_begun([row.key for row in self._portion], -1)
        except STORE_ERRORS:
            connection.close()
            return
        for row in self._portion:
            row.is_noted = False

    def _set_aside(self, key: int, fault: str) -> None:
        """Set a body aside; if the store is busy it is tried again after a restart."""
        try:
            unreadable_spans.set_aside([key], fault)
        except (Busy, StoreError):
            connection.close()
            self.rest()

    def rest(self) -> None:
        """Read nothing for `RETRY_S`."""
        self._rest_until = monotonic() + RETRY_S

    def worked(self) -> None:
        """Note that other batches were written."""
        self._worked_at = monotonic()

    def hurry(self, seconds: float) -> None:
        """Read without waiting for a pause for so long: somebody wants to see what was acknowledged."""
        self._hurry_until = max(self._hurry_until, monotonic() + seconds)

    def is_due(self) -> bool:
        """Return whether a portion is to be read now."""
        now = monotonic()
        if now >= self._search_at:
            self._search(now)
        if not self._rows or now < self._rest_until:
            return False
        is_late = self.oldest_s() >= LAG_S and now - self._read_at >= REST_S
        is_half_full = 2 * self.bytes > WAITING_BYTES
        return now < self._hurry_until or now - self._worked_at >= IDLE_S or is_late or is_half_full

    def due_in_s(self, most: float) -> float:
        """Return after how many seconds without a batch a portion is due, at most `most`."""
        if not self._rows:
            return most
        now = monotonic()
        idle = 0.0 if now < self._hurry_until else self._worked_at + IDLE_S - now
        return min(most, max(0.0, idle, self._rest_until - now))

    def __bool__(self) -> bool:
        return bool(self._rows)

    def _search(self, now: float) -> None:
        """Find the rows that a process before this one left, and on PostgreSQL nodes that have ended."""
        age_s = ABANDONED_S if self._has_searched else 0.0
        latest = sql.timestamp_encoder()(datetime.now(UTC) - timedelta(seconds=age_s))
        known = {row.key for row in self._rows}
        statement = (
            f"SELECT id, project_id, token, size, received_at, begun FROM {TABLE} "  # noqa: S608
            "WHERE received_at <= %s AND set_aside_at IS NULL ORDER BY id"
        )
        try:
            found = cast("list[tuple[int, int, int, int, datetime, int]]", sql.read(statement, latest))
            unfinished = {
                row[0] for row in found if row[0] not in known and row[-1] >= unreadable_spans.BEGUN_MAX
            }
            unreadable_spans.set_aside(sorted(unfinished), unreadable_spans.UNFINISHED)
        except (*STORE_ERRORS, Busy):
            connection.close()
            self._search_at = now + RETRY_S
            return
        self._has_searched = True
        self._search_at = now + ABANDONED_S if connection.vendor == "postgresql" else inf
        for key, project, token, size, at, begun in found:
            if key not in known | unfinished:
                waited_s = (datetime.now(UTC) - sql.aware(at)).total_seconds()
                self._add(WaitingRow(key, project, token, size, now - max(0.0, waited_s), begun))

    def _add(self, row: WaitingRow) -> None:
        self._rows.append(row)
        self.bytes += row.size + ROW_COST
        self.newest = max(self.newest, row.key)


def _columns(batch: Batch, at: sql.Value) -> tuple[sql.Value, ...]:
    lines = b"\n".join(batch.lines)
    return batch.project, batch.token, batch.address, batch.is_demo, at, batch.size, lines


def as_batch(
    key: int,
    project: int,
    token: int,
    address: str,
    is_demo: bool,  # noqa: FBT001  a row
    at: datetime,
    lines: bytes,
) -> Batch:
    """Return the body of a row."""
    content = bytes(lines).split(b"\n")
    return Batch(
        *(project, PRODUCER, None, content, OTLP, bool(is_demo)),
        token=token,
        address=address,
        waited=key,
        received_at=sql.aware(at),
    )


def delete(keys: Collection[int]) -> None:
    """Delete the rows of bodies that the running transaction has read."""
    sql.write(f"DELETE FROM {TABLE} WHERE id = %s", [[key] for key in keys])  # noqa: S608
