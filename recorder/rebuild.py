"""Deriving every record again from the journal, as if each line came in anew, under the keys it had."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from django.db import transaction

from recorder import store
from recorder.core.changes import Change
from recorder.core.changes import ModelConfig as Config
from recorder.core.formats import Refused
from recorder.core.formats.native import NO_LIMITS, parse
from recorder.core.needs import needs
from recorder.core.recorder import Line, Recorder
from recorder.journal import SOURCES
from recorder.models import JournalEvent, ModelConfig, Project
from recorder.progress import Progress

BATCH = 500


def rebuild(project: Project, progress: Progress) -> int:
    """Derive a project's records again in one transaction; return how many lines could not be read."""
    with transaction.atomic():
        slots = dict(ModelConfig.objects.filter(project=project).values_list("key", "slot"))
        kept = store.forget(project.pk)
        unreadable = 0
        for entries in _batches(project):
            changes, refused = _derive(project.pk, entries)
            unreadable += refused
            for change in changes:
                if isinstance(change, Config):  # a colour is for good, whatever was removed since
                    change.slot = slots.get(change.key, change.slot)
            store.save(project.pk, changes, kept)
            progress.step(len(entries), project.slug)
    return unreadable


def _derive(project: int, entries: list[JournalEvent]) -> tuple[list[Change], int]:
    """Feed entries in order to a recorder that remembers what they touch."""
    read = [(entry, _line(entry)) for entry in entries]
    lines = [line for _, line in read if line]
    flushed = frozenset(entry.producer_id for entry in entries if entry.kind == "flush")
    wanted = replace(needs(lines), producers=flushed)
    recorder = Recorder(store.remember(project, wanted, {line.producer for line in lines} | flushed))
    changes: list[Change] = []
    for entry, line in read:
        if entry.kind == "flush":
            changes += recorder.flush(entry.producer_id, entry.received_at, entry.pk)
        elif line:
            changes += recorder.feed(line)
    return changes, len(entries) - len(lines) - sum(entry.kind == "flush" for entry in entries)


def _line(entry: JournalEvent) -> Line | None:
    if entry.kind == "flush":
        return None
    try:
        event = parse(bytes(entry.raw), limits=NO_LIMITS)
    except Refused:
        return None
    producer = entry.producer
    source = SOURCES.get(producer.format, producer.format)
    return Line(entry.pk, producer.pk, entry.received_at, source, event, producer.is_demo)


def _batches(project: Project) -> Iterator[list[JournalEvent]]:
    rows = JournalEvent.objects.filter(project=project).select_related("producer").order_by("pk")
    last = 0
    while batch := list(rows.filter(pk__gt=last)[:BATCH]):
        last = batch[-1].pk
        yield batch
