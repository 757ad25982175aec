"""The way of every line, through whichever door: journal, recorder, store, one commit, then the doorbell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import islice

from django.conf import settings
from django.db import connection, transaction

from recorder.core.events import Unread
from recorder.core.formats import InvalidLineError, Limits, ParsedLine, base, native
from recorder.core.lookups import StateKeys
from recorder.core.recorder import Line, Recorder, state_keys_of
from recorder.core.records import Change
from recorder.core.state import State
from recorder.database.errors import STORE_ERRORS, raise_as_store_error
from recorder.journal.append import Journal
from recorder.journal.batch import (
    Appended,
    Batch,
    Gap,
    Read,
    Receipt,
    Rejected,
    Superseded,
    Unstored,
    lines_of,
)
from recorder.projection import store
from recorder.projection.state_cache import StateCache
from recorder.pubsub import invalidation

__all__ = ("Batch", "Gap", "Receipt", "Rejected", "Superseded", "ingest", "lines_of", "record")

Answer = Receipt | Unstored
PORTION_BYTES = 128 * 1024  # of lines: what they say, a few times as much, stays in the processor's cache


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
    parts: dict[int, list[tuple[int, Batch]]] = {}  # of which batch, by project
    for place in sorted(range(len(batches)), key=lambda place: batches[place].project):
        some = parts.setdefault(batches[place].project, [])
        some += [(place, part) for part in batches[place].parts(PORTION_BYTES)]
    reads: Iterator[Read] = (_read(part, unread) for mine in parts.values() for _, part in mine)
    if connection.vendor == "postgresql":  # where other nodes wait for a project that is locked
        reads = iter(list(reads))
    answers: dict[int, Answer] = {}
    try:
        with transaction.atomic():
            cache = StateCache()
            for project, mine in parts.items():
                work = _Work(project, [part for _, part in mine], cache)
                given, touched = work.record(islice(reads, len(mine)))
                for (place, _), answer in zip(mine, given, strict=True):
                    answers[place] = _joined(answers.get(place), answer)
                transaction.on_commit(partial(invalidation.publish, touched))
            cache.keep_on_commit()
    except STORE_ERRORS as error:
        raise_as_store_error(error)
        raise
    return [answers[place] for place in range(len(batches))]


class _Work:
    """What one transaction does in one project."""

    def __init__(self, project: int, batches: Sequence[Batch], cache: StateCache) -> None:
        self.project = project
        self.journal = Journal(project, batches)
        self.cache = cache
        self.changes: list[Change] = []
        self.invalidations: list[invalidation.Invalidation] = []

    def record(self, reads: Iterator[Read]) -> tuple[list[Answer], invalidation.Invalidation]:
        """Record batches, a few at a time: each line is read, written down, fed and gone.

        If the tables have to be read, they are for all batches that are left, which then go together.
        """
        answers: list[Answer] = []
        while appended := [self.journal.append(read) for read in _portion(reads)]:
            state = self.cache.get(self.project, *_wanted(appended))
            if state is None:
                appended += [self.journal.append(read) for read in reads]
                state = self._load_state(*_wanted(appended))
            recorder = Recorder(state)
            self.changes += [change for each in _taken(appended) for change in each.feed(recorder)]
            answers += [each.receipt if isinstance(each, Appended) else each for each in appended]
        self.journal.write()
        self._save()
        touched = replace(
            invalidation.merge(self.invalidations),
            quarantined=self.journal.has_quarantined,
            claimed=self.journal.claimed,
        )
        return answers, touched

    def _load_state(self, wanted: StateKeys, lines: Sequence[Line]) -> State:
        """Load the State of some lines, after the tables have what earlier lines changed."""
        self.journal.write_lines()
        self._save()
        return self.cache.load(self.project, wanted, lines)

    def _save(self) -> None:
        self.invalidations.append(store.save(self.project, self.changes))
        self.changes = []


def _portion(reads: Iterator[Read]) -> list[Read]:
    """Return the next batches to be fed together, none at the end."""
    some: list[Read] = []
    size = 0
    while size < PORTION_BYTES and (read := next(reads, None)):
        some.append(read)
        size += read.batch.size
    return some


def _joined(begun: Answer | None, answer: Answer) -> Answer:
    """Return the answer to a batch; what refuses its first part refuses all of it."""
    if isinstance(begun, Receipt) and isinstance(answer, Receipt):
        return begun.followed_by(answer)
    return answer if begun is None else begun


def _taken(appended: Sequence[Appended | Unstored]) -> list[Appended]:
    return [each for each in appended if isinstance(each, Appended)]


def _wanted(appended: Sequence[Appended | Unstored]) -> tuple[StateKeys, list[Line]]:
    """Return what the recorder needs for what is new in batches, and their lines."""
    taken = _taken(appended)
    lines = [line for each in taken for line in each.lines]
    return replace(
        state_keys_of(lines), ending_producers=frozenset(each.producer for each in taken if each.flush)
    ), lines


def _read(batch: Batch, unread: Unread | None) -> Read:
    return Read(batch, [unread] * len(batch.lines) if unread else _parsed(batch))


def _parsed(batch: Batch) -> Sequence[ParsedLine | InvalidLineError]:
    read = native.parse_all if batch.format == "native" else base.parse_all
    return read(batch.lines, limits=_limits())


@cache
def _limits() -> Limits:
    limits = settings.LOOPSCOPE_LIMITS
    return Limits(**{name: limits[name] for name in ("event_bytes", "depth", "id_bytes")})
