"""The way of every line, through whichever door: journal, recorder, store, one commit, then the doorbell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import groupby

from django.conf import settings
from django.db import transaction

from recorder import notify, store
from recorder.batch import Batch, Busy, Gap, Receipt, Rejected, Superseded, Unstored, lines_of
from recorder.core.events import Unread
from recorder.core.formats import Limits, Parsed, Refused, foreign, native
from recorder.core.needs import needs
from recorder.core.recorder import Recorder
from recorder.faults import STORE_ERRORS, blame
from recorder.journal import Journal
from recorder.reads import Appended, Read
from recorder.recall import Recall

__all__ = ("Batch", "Busy", "Gap", "Receipt", "Rejected", "Superseded", "ingest", "lines_of", "record")

Answer = Receipt | Unstored


def ingest(batch: Batch) -> Receipt:
    """Record one batch. Raises Gap, Superseded, Mixed or Busy, and then nothing of it is stored."""
    answer = record([batch])[0]
    if isinstance(answer, Unstored):
        raise answer
    return answer


def record(batches: Sequence[Batch], unread: Unread | None = None) -> list[Answer]:
    """Record several batches in one transaction; `unread` stands for each of their lines if they break us.

    A gap or a newer connection refuses its own batch only. Raises Busy or Broken. Within a transaction of the
    caller's the bells ring when that is committed.
    """
    reads = [Read(batch, [unread] * len(batch.lines) if unread else _parsed(batch)) for batch in batches]
    places = sorted(range(len(reads)), key=lambda place: reads[place].batch.project)
    answers: dict[int, Answer] = {}
    try:
        with transaction.atomic():
            recall = Recall()
            for project, group in groupby(places, key=lambda place: reads[place].batch.project):
                mine = list(group)
                given, bell = _record(project, [reads[place] for place in mine], recall)
                answers.update(zip(mine, given, strict=True))
                transaction.on_commit(partial(notify.ring, bell))
            recall.keep()
    except STORE_ERRORS as error:
        blame(error)
        raise
    return [answers[place] for place in range(len(reads))]


def _record(project: int, reads: Sequence[Read], recall: Recall) -> tuple[list[Answer], notify.Bell]:
    journal = Journal(project, reads)
    appended = [journal.append(read) for read in reads]
    journal.write()
    taken = [each for each in appended if isinstance(each, Appended)]
    lines = [line for each in taken for line in each.lines]
    wanted = replace(needs(lines), producers=frozenset(each.producer for each in taken if each.flush))
    recorder = Recorder(recall.memory(project, wanted, lines))
    changes = [change for each in taken for change in each.feed(recorder)]
    saved = store.save(project, changes)
    bell = replace(saved, quarantined=journal.has_quarantined, claimed=journal.claimed)
    return [each.receipt if isinstance(each, Appended) else each for each in appended], bell


def _parsed(batch: Batch) -> Sequence[Parsed | Refused]:
    read = native.parse_all if batch.format == "native" else foreign.parse_all
    return read(batch.lines, limits=_limits())


@cache
def _limits() -> Limits:
    limits = settings.LOOPSCOPE_LIMITS
    return Limits(**{name: limits[name] for name in ("event_bytes", "depth", "id_bytes")})
