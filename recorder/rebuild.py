"""Deriving every record again from the journal, as if each line came in anew, under the keys it had."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace

from django.db import transaction

from recorder import store
from recorder.core.changes import Change
from recorder.core.changes import ModelConfig as Config
from recorder.core.events import Event, Unread
from recorder.core.formats import Refused
from recorder.core.formats.native import NO_LIMITS, parse
from recorder.core.needs import needs
from recorder.core.recorder import Line, Recorder
from recorder.faults import STORE_ERRORS, blame
from recorder.journal import SOURCES
from recorder.models import JournalEvent, ModelConfig, Project
from recorder.progress import Progress

log = logging.getLogger(__name__)

BATCH = 500

_Entries = Sequence[tuple[JournalEvent, Line | None]]


def rebuild(project: Project, progress: Progress) -> int:
    """Derive a project's records again in one transaction; return how many lines could not be read."""
    with transaction.atomic():
        slots = dict(ModelConfig.objects.filter(project=project).values_list("key", "slot"))
        kept = store.forget(project.pk)
        unreadable = 0
        for entries in _batches(project):
            unreadable += _derive(project.pk, entries, slots, kept)
            progress.step(len(entries), project.slug)
    return unreadable


def _derive(project: int, entries: list[JournalEvent], slots: dict[str, int], kept: store.Kept) -> int:
    """Derive the records of some entries; if a bug of ours breaks them in halves, down to one."""
    try:
        with transaction.atomic():
            unreadable = _save(project, [(entry, _line(entry)) for entry in entries], slots, kept)
    except Exception as error:
        kept.take_back()
        if isinstance(error, STORE_ERRORS):
            blame(error)
        if len(entries) > 1:
            half = len(entries) // 2
            return sum(_derive(project, part, slots, kept) for part in (entries[:half], entries[half:]))
        log.exception("line %d of the journal breaks the recorder", entries[0].pk)
        unreadable = _save(project, [(entries[0], _as_line(entries[0], Unread()))], slots, kept)
    kept.settle()
    return unreadable


def _save(project: int, read: _Entries, slots: dict[str, int], kept: store.Kept) -> int:
    """Feed lines in order to a recorder that remembers what they touch; return how many say nothing."""
    lines = [line for _, line in read if line]
    flushed = frozenset(entry.producer_id for entry, _ in read if entry.kind == "flush")
    wanted = replace(needs(lines), producers=flushed)
    recorder = Recorder(store.remember(project, wanted, {line.producer for line in lines} | flushed))
    changes: list[Change] = []
    for entry, line in read:
        if entry.kind == "flush":
            changes += recorder.flush(entry.producer_id, entry.received_at, entry.pk)
        elif line:
            changes += recorder.feed(line)
    for change in changes:
        if isinstance(change, Config):  # a colour is for good, whatever was removed since
            change.slot = slots.get(change.key, change.slot)
    store.save(project, changes, kept)
    return len(read) - len(lines) - sum(entry.kind == "flush" for entry, _ in read)


def _line(entry: JournalEvent) -> Line | None:
    if entry.kind == "flush":
        return None
    try:
        return _as_line(entry, parse(bytes(entry.raw), limits=NO_LIMITS))
    except Refused:
        return None


def _as_line(entry: JournalEvent, event: Event) -> Line:
    producer = entry.producer
    source = SOURCES.get(producer.format, producer.format)
    return Line(entry.pk, producer.pk, entry.received_at, source, event, producer.is_demo)


def _batches(project: Project) -> Iterator[list[JournalEvent]]:
    rows = JournalEvent.objects.filter(project=project).select_related("producer").order_by("pk")
    last = 0
    while batch := list(rows.filter(pk__gt=last)[:BATCH]):
        last = batch[-1].pk
        yield batch
