"""The one thread of a process that writes: it commits the batches of all connections in groups, then answers.

While one commit waits for the disk the next group gathers; so the slower the disk, the larger the groups.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from django.db import connection

from recorder.database.errors import Busy, StoreError
from recorder.ingest.bisect import Answer, Attempts
from recorder.journal.batch import Batch, Receipt
from recorder.pricing import backfill
from recorder.pubsub.commit_poller import EVERY_S, CommitPoller

log = logging.getLogger(__name__)

BUDGET_BYTES = 64 * 1024 * 1024  # waiting to be written, over all connections
GROUP_BYTES = 4 * 1024 * 1024
GROUP_BATCHES = 256
SOON_S = 0.005  # about what a commit costs
LINE_COST = 200  # bytes that a waiting line costs beside its text


@dataclass(eq=False, slots=True)
class Job:
    """One batch on its way, None for a trial commit, and where its answer goes."""

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
        self.together = 0  # how many jobs the last group had
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_draining = False
        self.when_broken: Callable[[str], None] = log.critical

    def start(self) -> None:
        """Begin to look for what other processes commit, before the first batch comes."""
        with self._lock:
            if self._thread is None and not self._is_draining:
                self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
                self._thread.start()

    async def submit(self, batch: Batch) -> Receipt:
        """Write a batch; return when it is durable. Raises Gap, Superseded or Busy: nothing is stored."""
        receipt = await self._put(batch, batch.size + LINE_COST * len(batch.lines))
        assert receipt is not None
        return receipt

    async def try_commit(self) -> None:
        """Make a commit that changes nothing. Raises Busy if the store cannot."""
        await self._put(None, 0)

    @property
    def waiting_bytes(self) -> int:
        return self._bytes

    def oldest_s(self) -> float:
        """Return for how long the oldest batch has waited for its answer."""
        with self._lock:
            first = next(iter(self._waiting), None)
        return time.monotonic() - first.since if first else 0.0

    def close(self, timeout: float | None = None) -> None:
        """Take nothing more, write and answer what was taken, and end the thread."""
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
            self._bytes += size
            self._waiting[job] = None
        self.start()
        self._jobs.put(job)
        return await asyncio.shield(job.answer)

    def _run(self) -> None:
        watch = CommitPoller()
        attempts = Attempts()
        try:
            while (group := self._gather(watch)) is not None:
                if group:
                    self.together = len(group)
                    self._answer(group, attempts.write([job.batch for job in group]))
                    watch.poll_if_due()
                backfill.run_pending(lambda: not self._jobs.empty())
        except StoreError as broken:
            self._break(str(broken))
        except Exception:
            log.exception("a bug of ours ended the writing thread")
            self._break("the writing thread is gone: nothing can be stored until a new start")
        finally:
            watch.close()
            connection.close()

    def _break(self, why: str) -> None:
        """Acknowledge nothing more, not even what may have been stored."""
        with self._lock:
            self._is_draining = True
            left = list(self._waiting)
        self._answer(left, [Busy("draining")] * len(left))
        self.when_broken(why)

    def _gather(self, watch: CommitPoller) -> list[Job] | None:
        """Return the next jobs to be written together, none if there are none now, None at the end."""
        try:
            job = self._jobs.get(timeout=EVERY_S)
        except queue.Empty:
            watch.poll_if_due()
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
            self._jobs.put(None)
            return group
        return None

    def _next(self, number: int, until: float) -> Job | None:
        """Return the next job: those who were answered together send again soon, and share a commit again."""
        wait = until - time.monotonic() if number < self.together else 0.0
        return self._jobs.get(timeout=wait) if wait > 0 else self._jobs.get_nowait()

    def _answer(self, group: Sequence[Job], answers: Sequence[Answer]) -> None:
        with self._lock:
            for job in group:
                self._bytes -= job.size
                self._waiting.pop(job, None)
        loops: dict[asyncio.AbstractEventLoop, list[tuple[Job, Answer]]] = {}
        for job, answer in zip(group, answers, strict=True):
            loops.setdefault(job.loop, []).append((job, answer))
        for loop, given in loops.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_give, given)


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


def _give(given: Sequence[tuple[Job, Answer]]) -> None:
    for job, answer in given:
        if job.answer.done():
            continue
        if isinstance(answer, Exception):
            job.answer.set_exception(answer)
        else:
            job.answer.set_result(answer)
