"""Group commit: one thread per process commits the batches of all connections together, then answers them.

SQLite has one writer, and a commit costs an fsync whatever its size. So connections put batches into a
queue, and the writer thread takes all that wait as one group and commits it in one transaction. While that
commit waits for the disk the next group gathers: the slower the disk, the larger the groups. The clients
answered together send again within milliseconds; so a smaller group waits up to `SOON_S` for as many
batches as the last group had.

The thread goes round, by `_run`:

1. Gather: take what is queued, up to `GROUP_BYTES` or `GROUP_BATCHES`, or [] after a wait without any.
2. Commit: store the spans that are read later and write the rest, in a transaction each (`Attempts`).
3. Answer all of the group, waking each event loop once.
4. Read a portion of the spans that wait, if it is due (`Backlog`).
5. Let prices, the search index, waste and the ledger catch up until the next batch is queued.

For example three clients send a line each while a commit waits for the disk. The next group has the three
batches: one transaction, one fsync, and then three receipts. If our code fails on the second line, nothing of
that transaction is stored; `Attempts` writes the halves of the group again, down to that line, which it
stores unparsed.

Invariant: an answer is given only after the commit that holds its batch; batches of one connection keep
their order. After an error that leaves the state of the store unknown, nothing more is acknowledged.

Cost: one transaction per group, at most `GROUP_BYTES` or `GROUP_BATCHES`; at most `BUDGET_BYTES` wait, then
`Busy`.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from django.conf import settings
from django.db import connection

from recorder.database.errors import Busy, StoreError
from recorder.database.sqlite.presence import Presence
from recorder.follower.idle import IdleFollower
from recorder.ingest.commit.bisect import Answer, Attempts
from recorder.ingest.commit.span_backlog import Backlog
from recorder.ingest.commit.unreadable_spans import TooLong, drop_connection, time_limit
from recorder.journal.batch import Batch, Receipt
from recorder.ledger import follower as ledger
from recorder.pricing import backfill
from recorder.pubsub.commit_poller import EVERY_S, CommitPoller
from recorder.pubsub.invalidation import Invalidation, publish
from recorder.search.idle import IdleIndexing
from recorder.waste import follower as waste

log = logging.getLogger(__name__)

BUDGET_BYTES = 64 * 1024 * 1024  # waiting to be written, over all connections
GROUP_BYTES = 4 * 1024 * 1024
GROUP_BATCHES = 256
LOOK_S = 0.01  # how often it is looked whether spans are read
SOON_S = 0.005  # about what a commit costs
WASTE_RUN_S = 0.04  # in a row; under full load it rests for a second then, and alarms are due in two
REST_S = 2.0  # for reading spans at the end
LINE_COST = 200  # estimated memory of a waiting line beside its text, in bytes


@dataclass(eq=False, slots=True)
class Job:
    """A queued batch, None for a trial commit, with the future for its answer."""

    batch: Batch | None
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[Receipt | None]
    size: int
    since: float = field(default_factory=time.monotonic)


class Writer:
    """A bounded queue and the thread behind it. `submit` may be called on any event loop."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._waiting: dict[Job, None] = {}
        self._bytes = 0
        self.together = 0  # number of jobs in the last group
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_draining = False
        self.backlog = Backlog()
        self.indexing = IdleIndexing()
        pace, self._wastes = self.indexing.pace, waste.Follower()
        self.waste = IdleFollower(pace, self._wastes, is_on=settings.LOOPSCOPE_WASTE, run_s=WASTE_RUN_S)
        self._ledgers = ledger.Follower()
        self.ledger = IdleFollower(pace, self._ledgers, is_on=settings.LOOPSCOPE_LEDGER)
        self.when_broken: Callable[[str], None] = log.critical

    def start(self) -> None:
        """Start the thread, which also polls for commits of other processes."""
        with self._lock:
            if self._thread is None and not self._is_draining:
                self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
                self._thread.start()

    async def submit(self, batch: Batch) -> Receipt:
        """Write a batch; return its receipt when it is durable.

        Raises: Gap, Superseded, Mixed or Busy; nothing of the batch is stored then.
        """
        receipt = await self._put(batch, batch.size + LINE_COST * len(batch.lines))
        assert receipt is not None
        return receipt

    async def try_commit(self) -> None:
        """Commit a write that changes no value, to test the store. Raises Busy if it cannot commit."""
        await self._put(None, 0)

    async def spans_read(self, project: int) -> None:
        """Return when the spans of a project that were acknowledged so far are read, at once if none wait."""
        newest = self.backlog.newest
        while self.backlog.has(project, newest):
            self.backlog.hurry(2 * LOOK_S)
            await asyncio.sleep(LOOK_S)

    @property
    def waiting_bytes(self) -> int:
        return self._bytes

    def oldest_s(self) -> float:
        """Return how long the oldest unanswered batch has waited, in seconds; 0 if none waits."""
        with self._lock:
            first = next(iter(self._waiting), None)
        return time.monotonic() - first.since if first else 0.0

    def close(self, timeout: float | None = None) -> None:
        """Accept no more batches, answer the queued ones and wait `timeout` seconds for the thread's end."""
        with self._lock:
            self._is_draining = True
            thread, self._thread = self._thread, None
        if thread is not None:
            self._jobs.put(None)
            thread.join(timeout)

    async def _put(self, batch: Batch | None, size: int) -> Receipt | None:
        loop = asyncio.get_running_loop()
        job = Job(batch, loop, loop.create_future(), size)
        with self._lock:
            if self._is_draining:
                raise Busy("draining")
            if self._bytes + size > BUDGET_BYTES and self._waiting:
                raise Busy("busy")
            self._bytes += size  # counted until the answer, as the group in work is in memory too
            self._waiting[job] = None
        self.start()
        self._jobs.put(job)
        return await asyncio.shield(job.answer)

    def _run(self) -> None:
        poller = CommitPoller()
        attempts = Attempts(self.backlog)
        presence = Presence()
        try:
            _require(presence)
            while (group := self._gather(poller)) is not None:
                _require(presence)
                if group:
                    self.together, began = len(group), time.monotonic()
                    answers = attempts.write([job.batch for job in group])
                    presence.committed()
                    _require(presence)
                    self._answer(group, answers)
                    self.indexing.pace.wrote(time.monotonic() - began)
                    poller.poll_if_due()
                    self.backlog.worked()
                self._read_spans(attempts)
                backfill.run_pending(lambda: not self._jobs.empty())
                for project in self.indexing.run(lambda: not self._jobs.empty()):
                    publish(Invalidation(project, indexed=True))
                self._follow()
            self._read_rest(attempts)
        except StoreError as broken:
            self._break(str(broken))
        except Exception:
            log.exception("a bug of ours ended the writing thread")
            self._break("the writer thread has ended: nothing can be stored until a restart")
        finally:
            poller.close()
            connection.close()

    def _follow(self) -> None:
        """Let the tables that follow the journal catch up, as far as the load allows."""
        for project, sessions in self.waste.run(lambda: not self._jobs.empty()).items():
            publish(Invalidation(project, wastes=sessions, alarms=self._wastes.new_alarms(project)))
        for project, sessions in self.ledger.run(lambda: not self._jobs.empty()).items():
            publish(Invalidation(project, ledgers=sessions, ledger_turns=self._ledgers.new_turns(project)))

    def _read_spans(self, attempts: Attempts) -> None:
        """Read a portion of the spans that wait, if it is due."""
        if not self.backlog.is_due():
            return
        try:
            batches = self.backlog.next()
            with time_limit(settings.LOOPSCOPE_SPAN_READ_S):
                answers = attempts.write(batches) if batches else []
        except Busy:
            connection.close()
            self.backlog.rest()
        except TooLong:
            drop_connection()
            self.backlog.took_too_long(settings.LOOPSCOPE_SPAN_READ_S)
        else:
            self.backlog.done(answers)

    def _read_rest(self, attempts: Attempts) -> None:
        """Read waiting spans before the end, for `REST_S` seconds at most; a restart reads the others."""
        until = time.monotonic() + REST_S
        self.backlog.hurry(REST_S)
        while self.backlog.is_due() and time.monotonic() < until:
            self._read_spans(attempts)

    def _break(self, why: str) -> None:
        """Answer `Busy` to all waiting batches, also those that may be stored; clients send them again."""
        with self._lock:
            self._is_draining = True
            left = list(self._waiting)
        self._answer(left, [Busy("draining")] * len(left))
        self.when_broken(why)

    def _gather(self, poller: CommitPoller) -> list[Job] | None:
        """Return the next jobs to commit together, [] if none came within `EVERY_S`, None at the end."""
        try:
            job = self._jobs.get(timeout=self._due_in_s())
        except queue.Empty:
            poller.poll_if_due()
            return []
        group: list[Job] = []
        size, until = 0, time.monotonic() + SOON_S
        while job is not None:
            group.append(job)
            size += job.size
            if size >= GROUP_BYTES or len(group) >= GROUP_BATCHES:
                return group
            try:
                job = self._next(len(group), until)
            except queue.Empty:
                return group
        if group:
            self._jobs.put(None)  # the end came after a group: write the group first, then read the end again
            return group
        return None

    def _due_in_s(self) -> float:
        """Return how long to wait for a batch before other work is due."""
        due_in_s = self.waste.due_in_s(self.ledger.due_in_s(self.indexing.due_in_s(EVERY_S)))
        return self.backlog.due_in_s(due_in_s)

    def _next(self, number: int, until: float) -> Job | None:
        """Return the next job; wait while the group is smaller than the last one. Raises queue.Empty."""
        wait = until - time.monotonic() if number < self.together else 0.0
        return self._jobs.get(timeout=wait) if wait > 0 else self._jobs.get_nowait()

    def _answer(self, group: Sequence[Job], answers: Sequence[Answer]) -> None:
        with self._lock:
            for job in group:
                self._bytes -= job.size
                self._waiting.pop(job, None)
        # One call per event loop, not per job: each wakes the loop through a socket.
        loops: dict[asyncio.AbstractEventLoop, list[tuple[Job, Answer]]] = {}
        for job, answer in zip(group, answers, strict=True):
            loops.setdefault(job.loop, []).append((job, answer))
        for loop, answered in loops.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_set_results, answered)


def _require(presence: Presence) -> None:
    """Raise StoreError if the file of the database is gone."""
    if (loss := presence.loss()) is not None:
        raise StoreError(loss)


_writer: Writer | None = None
_making = threading.Lock()


def writer() -> Writer:
    """Return the writer of this process."""
    global _writer  # noqa: PLW0603  one a process
    with _making:
        if _writer is None:
            _writer = Writer()
        return _writer


def close() -> None:
    """End the writer of this process, if it has one; a later `writer()` makes another."""
    global _writer
    with _making:
        ended, _writer = _writer, None
    if ended is not None:
        ended.close()


def _set_results(answered: Sequence[tuple[Job, Answer]]) -> None:
    for job, answer in answered:
        if job.answer.done():
            continue
        if isinstance(answer, Exception):
            job.answer.set_exception(answer)
        else:
            job.answer.set_result(answer)
