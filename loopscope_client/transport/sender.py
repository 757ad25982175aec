"""The thread that sends: its own lines, and those that dead programs left in the same spool."""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path
from threading import Condition, Thread
from time import monotonic

from loopscope_client.transport.delivery import Backoff, Course, Tally
from loopscope_client.transport.http import Wire
from loopscope_client.transport.spool_folders import Held, left_over

log = logging.getLogger(__name__)
LOOK_S = 10.0  # between two looks for what others left behind


class Sender:
    """Sends what a spool holds until it is stopped; nothing that a server does ends it."""

    def __init__(self, held: Held, wire: Wire, root: Path | None, url: str, budget: int) -> None:
        self.tally = Tally()
        self._wire, self._root, self._url, self._budget = wire, root, url, budget
        self._backoff = Backoff()
        self._own = self._course(held)
        self._others: list[Course] = []
        self._look_at = 0.0
        self._turn = Condition()
        self._called = self._stopped = False
        self._thread = Thread(target=self._run, name="loopscope-sender", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def call(self) -> None:
        """Say that there are lines; costs nothing when it is known."""
        if not self._called:
            with self._turn:
                self._called = True
                self._turn.notify_all()

    def finish(self) -> None:
        """Have the server told, after the last line, that this producer is done."""
        self._own.flush = True
        self.call()

    def drained(self, timeout: float) -> bool:
        """Wait until everything is stored; False when that took too long or cannot be."""
        with self._turn:
            return self._turn.wait_for(lambda: self._is_done or self.is_barred, timeout) and self._is_done

    def stop(self, timeout: float) -> None:
        """Send nothing more after the batch that is on its way; with that, the spool is let go."""
        with self._turn:
            self._stopped = True
            self._turn.notify_all()
        self._thread.join(timeout)

    @property
    def is_barred(self) -> bool:
        return self.tally.state in ("unauthorized", "forbidden")

    @property
    def _is_done(self) -> bool:
        return self._own.is_idle and not self._others and self._look_at > 0

    def _run(self) -> None:
        while not self._stopped:
            try:
                wait = self._round()
            except Exception as error:  # noqa: BLE001  the disk may fail in any way; the thread goes on
                log.warning("lines wait in the spool: %s", error)
                self.tally.state, self.tally.error = "waiting", f"{type(error).__name__}: {error}"
                wait = self._backoff.next()
            self._rest(wait)
        for course in [self._own, *self._others]:
            course.held.close()
        self._wire.close()

    def _round(self) -> float | None:
        """Send a batch of each course; return the seconds to wait, None until somebody calls."""
        if self.is_barred:
            return None
        self._called = False
        self._look()
        wait = 0.0
        for course in [self._own, *self._others]:
            if not wait and not course.is_idle:
                wait = course.step()
        for course in [course for course in self._others if course.is_idle]:
            self._others.remove(course)
            course.held.close()
        if wait or not self._is_done:
            return wait
        self.tally.state = "idle"
        return None

    def _rest(self, wait: float | None) -> None:
        with self._turn:
            self._turn.notify_all()
            if self._stopped or wait == 0.0:
                return
            until = None if wait is None else monotonic() + wait
            while not self._stopped:
                if until is None and self._called and not self.is_barred:
                    return
                left = LOOK_S if until is None else until - monotonic()
                if left <= 0 or (not self._turn.wait(left) and until is None and not self.is_barred):
                    return

    def _look(self) -> None:
        if self._root is None or monotonic() < self._look_at:
            return
        with suppress(OSError):
            self._others += [self._course(held) for held in left_over(self._root, self._url, self._budget)]
        self._look_at = monotonic() + LOOK_S

    def _course(self, held: Held) -> Course:
        return Course(held, self._wire, self.tally, self._backoff)
