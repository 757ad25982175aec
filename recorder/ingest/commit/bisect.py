"""Writes a group of batches; if an exception interrupts it, bisects down to the line that raises.

That line alone is stored unparsed, with the hash of the traceback. Invariant: a batch is stored whole or not
at all, also when bisected. Cost: one transaction normally; about 2 log2(lines) attempts for each line that
raises.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F

from recorder.core.events import Unread
from recorder.database.errors import FULL_RETRY_MS, STORE_ERRORS, Busy, StoreError, raise_as_store_error
from recorder.ingest.commit.disk_reserve import Reserve
from recorder.ingest.commit.pipeline import record
from recorder.ingest.commit.span_backlog import Backlog
from recorder.ingest.metrics import ACCEPTED, COMMITS, DUPLICATES, REJECTED
from recorder.journal.batch import Batch, Receipt
from recorder.journal.our_bugs import digest, one_line
from recorder.models import Project

log = logging.getLogger(__name__)

Answer = Receipt | Exception | None
LOOK_S = 1.0  # how often the free space of a full disk is checked


class Attempts:
    """Writes groups, in part to the backlog of spans, and keeps a reserve of disk space on SQLite."""

    def __init__(self, backlog: Backlog) -> None:
        self._backlog = backlog
        self._reserve = Reserve(Path(settings.DATA)) if connection.vendor == "sqlite" else None
        self._checked_at = -LOOK_S

    def write(self, batches: Sequence[Batch | None]) -> list[Answer]:
        """Write a group, in which None is a trial commit; return an answer to each. Raises StoreError."""
        if not self._has_room():
            return [Busy("disk_full", FULL_RETRY_MS)] * len(batches)
        begun = monotonic()
        answers = self._stored_or_written(batches)
        COMMITS.note(monotonic() - begun)
        _count(answers)
        if self._reserve and any(isinstance(each, Busy) and each.code == "disk_full" for each in answers):
            self._reserve.give_up()
        return answers

    def _stored_or_written(self, batches: Sequence[Batch | None]) -> list[Answer]:
        """Store the spans that are read later, write the rest; return the answers in order."""
        later = dict.fromkeys(self._backlog.chosen(batches))
        now = [place for place in range(len(batches)) if place not in later]
        answers = dict(zip(later, self._store([batches[place] for place in later]), strict=True))
        answers |= zip(now, self._try([batches[place] for place in now]) if now else [], strict=True)
        return [answers[place] for place in range(len(batches))]

    def _store(self, batches: Sequence[Batch | None]) -> Sequence[Answer]:
        given = [batch for batch in batches if batch is not None]
        try:
            return self._backlog.store(given) if given else []
        except Busy as busy:
            connection.close()
            return [busy] * len(given)

    def _has_room(self) -> bool:
        if self._reserve is None or self._reserve.is_kept:
            return True
        if monotonic() - self._checked_at < LOOK_S:
            return False
        self._checked_at = monotonic()
        _shrink_log()
        return self._reserve.keep()

    def _try(self, batches: Sequence[Batch | None]) -> list[Answer]:
        try:
            return _written(batches)
        except Busy as busy:
            connection.close()  # the connection may be broken; the next transaction opens another
            return [busy] * len(batches)
        except StoreError:
            raise  # without another statement: the database is not to be trusted
        except Exception as error:  # noqa: BLE001  its line is looked for, and logged alone
            connection.close()
            log.debug("a group of %d batches cannot be recorded at once: %s", len(batches), one_line(error))
            return self._in_parts(batches, error)

    def _in_parts(self, batches: Sequence[Batch | None], error: Exception) -> list[Answer]:
        if len(batches) > 1:
            half = len(batches) // 2
            return [*self._try(batches[:half]), *self._try(batches[half:])]
        batch = batches[0]
        if batch is None or not batch.lines:
            log.error("nothing of it can be recorded", exc_info=error)
            return [error]
        return [_around_what_breaks(batch)]


def _around_what_breaks(batch: Batch) -> Answer:
    """Write a batch in one transaction; lines on which our code raises are stored unparsed."""
    try:
        with transaction.atomic():
            return _in_halves(batch)
    except Busy as busy:
        connection.close()
        return busy
    except StoreError:
        raise
    except Exception as error:
        log.exception("a line that broke the recorder cannot be kept either")
        connection.close()
        return error


def _in_halves(batch: Batch) -> Answer:
    try:
        return record([batch])[0]
    except (Busy, StoreError):
        raise
    except Exception as error:  # noqa: BLE001  its line is looked for, and logged alone
        if len(batch.lines) == 1:
            return _unread(batch, error)
    half = len(batch.lines) // 2
    begun = _in_halves(replace(batch, lines=batch.lines[:half], flush=False))
    if not isinstance(begun, Receipt):
        return begun
    first = begun.upto + 1 if batch.first is None else batch.first + half
    ended = _in_halves(replace(batch, producer=begun.producer, first=first, lines=batch.lines[half:]))
    if not isinstance(ended, Receipt):
        return ended
    return begun.followed_by(ended)


def _unread(batch: Batch, error: Exception) -> Answer:
    """Store the one line on which our code raises, unparsed and quarantined; a rebuild reads it again."""
    found = digest(error)
    log.error("a line broke the recorder, traceback %s: %s", found, one_line(error))
    return record([batch], Unread(traceback=found))[0]


def _count(answers: Sequence[Answer]) -> None:
    for receipt in answers:
        if isinstance(receipt, Receipt) and not receipt.is_unread:
            ACCEPTED.add(receipt.accepted)
            REJECTED.add(len(receipt.rejected))
            DUPLICATES.add(receipt.duplicates)


def _written(batches: Sequence[Batch | None]) -> list[Answer]:
    _trust_keys()
    if None in batches:
        _try_commit()
    given = iter(record([batch for batch in batches if batch is not None]))
    return [None if batch is None else next(given) for batch in batches]


def _trust_keys() -> None:
    """Disable foreign key checks on SQLite: the referenced rows were read or written in the same transaction.

    The checks take a tenth of all work. `check_integrity` checks everything.
    """
    try:
        connection.disable_constraint_checking()
    except STORE_ERRORS as error:
        raise_as_store_error(error)
        raise


def _try_commit() -> None:
    try:
        with transaction.atomic():
            # The same value, but a write: it must reach the disk.
            Project.objects.filter(pk=Project.objects.order_by("pk").values("pk")[:1]).update(
                title=F("title")
            )
    except STORE_ERRORS as error:
        raise_as_store_error(error)
        raise


def _shrink_log() -> None:
    """Truncate SQLite's write-ahead log, as far as no connection reads it.

    Past Django, whose errors end the server when a sync fails: this one may fail, and is tried again.
    """
    try:
        connection.ensure_connection()
        connection.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except (sqlite3.Error, *STORE_ERRORS):
        connection.close()
