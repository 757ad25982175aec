"""The ingest pipeline: mask, parse, append to the journal, reduce, store, commit, publish.

Both endpoints (HTTP and WebSocket), the importers and the demo record through `record`:

1. mask: secrets in each line are replaced, before anything of it is stored;
2. parse: each line becomes an event, or an error that rejects this line only;
3. append: the journal assigns ids, drops duplicates and stores each masked line byte for byte;
4. reduce: the recorder, a pure state machine, turns events into changes of records;
5. store: the changed records are written, with the sums of the cost roll-ups, then reported evaluations;
6. commit: steps 3 to 5 are one transaction, so the tables always equal a replay of the journal;
7. publish: after the commit, subscribers get the ids of the changed records (an invalidation).

Invariant: a batch is stored whole or not at all, and its receipt is returned only after the commit.

Cost: one transaction per call. Lines are handled in portions of `PORTION_BYTES`, so memory does not grow
with the parsed events. The recorder's state is cached between transactions on SQLite; else loading it is a
fixed number of queries per call and project.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import islice

from django.conf import settings
from django.db import connection, transaction

from recorder.core.changes import Change
from recorder.core.events import Unread
from recorder.core.formats import InvalidLineError, Limits, ParsedLine, base, native
from recorder.core.formats.registry import SETTLED
from recorder.core.lookups import StateKeys
from recorder.core.recorder import JournalLine, Recorder, state_keys_of
from recorder.core.state import State
from recorder.database.errors import STORE_ERRORS, raise_as_store_error
from recorder.ingest.commit import span_backlog
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
from recorder.journal.identity import masked
from recorder.journal.spans.evaluations import PlacedEvaluation
from recorder.masking.masker import Masker
from recorder.masking.project_rules import masker_of
from recorder.notes import evaluations
from recorder.projection import store
from recorder.projection.state_cache import StateCache
from recorder.pubsub import invalidation

__all__ = ("Batch", "Gap", "Receipt", "Rejected", "Superseded", "ingest", "lines_of", "record")

Answer = Receipt | Unstored
PORTION_BYTES = 128 * 1024  # of lines; their events, a few times as large, still fit the CPU's cache


def ingest(batch: Batch) -> Receipt:
    """Record one batch and return its receipt.

    Raises: Gap, Superseded, Mixed, Closed or Busy; nothing of the batch is stored then.
    """
    answer = record([batch])[0]
    if isinstance(answer, Unstored):
        raise answer
    return answer


def record(batches: Sequence[Batch], unread: Unread | None = None) -> list[Answer]:
    """Record several batches in one transaction; return an answer for each, in order.

    A gap or a newer connection refuses its own batch only. With `unread`, lines are stored unparsed.
    Within a transaction of the caller, invalidations are published when that is committed.

    Raises: Busy or StoreError; nothing is stored then.
    """
    parts = _by_project(batches)
    answers: dict[int, Answer] = {}
    try:
        maskers = {project: masker_of(project) for project in parts}
        reads: Iterator[Read] = (
            _read(masked(part, maskers[project]), unread)
            for project, project_parts in parts.items()
            for _, part in project_parts
        )
        if connection.vendor == "postgresql":  # where other nodes wait for a project that is locked
            reads = iter(list(reads))
        with transaction.atomic():
            cache = StateCache()
            placed: dict[int, list[PlacedEvaluation]] = {}
            for project, project_parts in parts.items():
                work = _Work(maskers[project], project, [part for _, part in project_parts], cache)
                placed[project] = work.journal.spans.evaluations
                project_answers, touched = work.record(islice(reads, len(project_parts)))
                for (index, _), answer in zip(project_parts, project_answers, strict=True):
                    answers[index] = _joined(answers.get(index), answer)
                transaction.on_commit(partial(invalidation.publish, touched))
            evaluations.write_all(placed)
            span_backlog.delete([batch.waited for batch in batches if batch.waited])
            cache.keep_on_commit()
    except STORE_ERRORS as error:
        raise_as_store_error(error)
        raise
    return [answers[index] for index in range(len(batches))]


def _by_project(batches: Sequence[Batch]) -> dict[int, list[tuple[int, Batch]]]:
    """Return the parts of batches by project, each with the index of its batch."""
    parts: dict[int, list[tuple[int, Batch]]] = {}
    for index in sorted(range(len(batches)), key=lambda index: batches[index].project):
        group = parts.setdefault(batches[index].project, [])
        group += [(index, part) for part in batches[index].parts(PORTION_BYTES)]
    return parts


class _Work:
    """The work of one transaction in one project."""

    def __init__(self, masker: Masker, project: int, batches: Sequence[Batch], cache: StateCache) -> None:
        self.project = project
        self.journal = Journal(project, batches, masker)
        self.cache = cache
        self.changes: list[Change] = []
        self.invalidations: list[invalidation.Invalidation] = []

    def record(self, reads: Iterator[Read]) -> tuple[list[Answer], invalidation.Invalidation]:
        """Append and reduce the batches in portions, then write; return the answers and the invalidation.

        If the state is not cached, it is loaded once for all remaining batches, which then form one portion.
        """
        answers: list[Answer] = []
        while appended := [self.journal.append(read) for read in _portion(reads)]:
            state = self.cache.get(self.project, *_state_keys(appended))
            if state is None:
                appended += (
                    [] if _settles(appended) else [self.journal.append(r) for r in _until_settled(reads)]
                )
                state = self._load_state(*_state_keys(appended))
            recorder = Recorder(state)
            self.changes += [change for each in _stored(appended) for change in each.feed(recorder)]
            answers += [each.receipt if isinstance(each, Appended) else each for each in appended]
            if _settles(appended):
                self.journal.write_lines()
                self._save()
        self.journal.write()
        self._save()
        touched = replace(
            invalidation.merge(self.invalidations),
            quarantined=self.journal.has_quarantined,
            claimed=self.journal.claimed,
        )
        return answers, touched

    def _load_state(self, wanted: StateKeys, lines: Sequence[JournalLine]) -> State:
        """Load the State for some lines, after writing the changes of earlier lines to the tables."""
        self.journal.write_lines()
        self._save()
        return self.cache.load(self.project, wanted, lines)

    def _save(self) -> None:
        self.invalidations.append(store.save(self.project, self.changes))
        self.changes = []


def _portion(reads: Iterator[Read]) -> list[Read]:
    """Return the next batches, about `PORTION_BYTES` of lines; empty at the end."""
    group: list[Read] = []
    size = 0
    for read in _until_settled(reads):
        group.append(read)
        size += read.batch.size
        if size >= PORTION_BYTES:
            break
    return group


def _until_settled(reads: Iterator[Read]) -> Iterator[Read]:
    """Yield batches up to one that may remove sessions, which may begin again in the next portion."""
    for read in reads:
        yield read
        if read.batch.flush and read.batch.format in SETTLED:
            return


def _settles(appended: Sequence[Appended | Unstored]) -> bool:
    last = appended[-1]
    return isinstance(last, Appended) and last.is_settled


def _joined(begun: Answer | None, answer: Answer) -> Answer:
    """Combine the answers to the parts of a batch; a refused first part refuses the whole batch."""
    if isinstance(begun, Receipt) and isinstance(answer, Receipt):
        return begun.followed_by(answer)
    return answer if begun is None else begun


def _stored(appended: Sequence[Appended | Unstored]) -> list[Appended]:
    return [each for each in appended if isinstance(each, Appended)]


def _state_keys(appended: Sequence[Appended | Unstored]) -> tuple[StateKeys, list[JournalLine]]:
    """Return the keys of the state that the new lines need, and these lines."""
    taken = _stored(appended)
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
    return Limits(**{name: limits[name] for name in ("event_bytes", "event_values", "depth", "id_bytes")})
