"""Derives every record again from the journal, under the primary keys that the records had."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from django.db import transaction

from recorder.core.changes import Change
from recorder.core.recorder import JournalLine, Recorder
from recorder.core.records import ModelConfig as Config
from recorder.core.state_keys import state_keys_of
from recorder.database.errors import STORE_ERRORS, raise_as_store_error
from recorder.journal.our_bugs import one_line
from recorder.journal.read import texts
from recorder.journal.replay import EndOfStream, Replay, unread
from recorder.journal.spans.replay import Entry
from recorder.ledger import state as ledger_state
from recorder.models import Deletion, JournalEvent, ModelConfig, Project
from recorder.projection import store
from recorder.search import documents
from recorder.waste import state as waste_state

log = logging.getLogger(__name__)

BATCH = 500
Looks: TypeAlias = dict[str, tuple[int, str]]  # colour slot and parameter of each config, by its key


class DeletionPending(Exception):
    """Records cannot be derived again, because the lines of a deleted session are not all deleted yet."""

    def __init__(self, project: Project) -> None:
        super().__init__(f"a session of {project.slug} is being deleted; nothing was changed")


class BodiesPruned(Exception):
    """Records cannot be derived again, because bodies of the project's lines were pruned."""

    def __init__(self, project: Project, lines: int) -> None:
        super().__init__(
            f"bodies of {lines:,} lines of {project.slug} were pruned: their records could not be derived "
            "again, so nothing was changed"
        )


def _ignore(lines: int) -> None:
    """Ignore progress."""


def rebuild(project: Project, on_progress: Callable[[int], None] = _ignore) -> int:
    """Derive a project's records again in one transaction; return how many lines could not be read.

    `on_progress` gets the number of lines read since its last call. Raises BodiesPruned, DeletionPending.
    """
    with transaction.atomic():
        if Deletion.objects.filter(project=project, finished_at=None).exists():
            raise DeletionPending(project)
        if gone := JournalEvent.objects.filter(project=project, pruned_on__isnull=False).count():
            raise BodiesPruned(project, gone)
        looks = _config_looks(project)
        retained = store.forget(project.pk)
        replay = Replay(project.pk)
        for entries in _batches(project):
            for portion in _portions(replay.lines(entries)):
                _derive(project.pk, portion, looks, retained)
            on_progress(len(entries))
        _derive(project.pk, list(replay.rest()), looks, retained)
        replay.finish()
        documents.forget(project.pk)
        ledger_state.forget(project.pk)
        waste_state.forget(project.pk)
    return replay.unreadable


def _portions(replayed: Iterator[JournalLine | EndOfStream]) -> Iterator[list[JournalLine | EndOfStream]]:
    """Yield what is saved together: an end of stream may remove sessions, which may begin again after it."""
    portion: list[JournalLine | EndOfStream] = []
    for each in replayed:
        portion.append(each)
        if isinstance(each, EndOfStream):
            yield portion
            portion = []
    yield portion


def _derive(
    project: int, replayed: Sequence[JournalLine | EndOfStream], looks: Looks, retained: store.RetainedKeys
) -> None:
    """Derive the records of some lines; after an exception split them in halves, down to one line."""
    try:
        with transaction.atomic():
            _save(project, replayed, looks, retained)
    except Exception as error:  # noqa: BLE001  its line is looked for, and logged alone
        retained.take_back()
        if isinstance(error, STORE_ERRORS):
            raise_as_store_error(error)
        if len(replayed) > 1:
            half = len(replayed) // 2
            for part in (replayed[:half], replayed[half:]):
                _derive(project, part, looks, retained)
            return
        log.error("line %d of the journal breaks the recorder: %s", replayed[0].id, one_line(error))  # noqa: TRY400
        _save(project, [unread(line) for line in replayed if isinstance(line, JournalLine)], looks, retained)
    retained.settle()


def _save(
    project: int, replayed: Sequence[JournalLine | EndOfStream], looks: Looks, retained: store.RetainedKeys
) -> None:
    """Feed lines in order to a recorder with the state they need, and save the changes."""
    lines = [line for line in replayed if isinstance(line, JournalLine)]
    flushed = frozenset(flush.producer for flush in replayed if isinstance(flush, EndOfStream))
    wanted = replace(state_keys_of(lines), ending_producers=flushed)
    recorder = Recorder(store.load_state(project, wanted, {line.producer for line in lines} | flushed))
    changes: list[Change] = []
    for each in replayed:
        if isinstance(each, EndOfStream):
            changes += recorder.end_of_stream(each.producer, each.received_at, each.id)
        else:
            changes += recorder.feed(each)
    for change in changes:
        if isinstance(change, Config):  # a config keeps colour and label, also when others were removed
            change.slot, change.parameter = looks.get(change.key, (change.slot, change.parameter))
    store.save(project, changes, retained)


def _config_looks(project: Project) -> Looks:
    found = ModelConfig.objects.filter(project=project).values_list("key", "slot", "parameter")
    return {key: (slot, parameter) for key, slot, parameter in found}


def _batches(project: Project) -> Iterator[list[Entry]]:
    rows = JournalEvent.objects.filter(project=project).select_related("producer").order_by("pk")
    last = 0
    while batch := list(rows.filter(pk__gt=last).defer("own", "pieces")[:BATCH]):
        last = batch[-1].pk
        raws = texts([entry.pk for entry in batch])
        yield [(entry, raws[entry.pk]) for entry in batch]
