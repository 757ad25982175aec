"""The thread that sends the lines of its own spool and of spools that terminated processes left."""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path
from threading import Condition, Thread
from time import monotonic

from loopscope_client.transport.delivery import Backoff, Counters, Delivery
from loopscope_client.transport.http import Connection
from loopscope_client.transport.spool_folders import LockedSpool, claim_abandoned

log = logging.getLogger(__name__)
SCAN_S = 10.0  # between two scans for spools of terminated processes


class Sender:
    """Sends the lines of a spool until it is stopped; no response and no disk error ends it."""

    def __init__(
        self, locked: LockedSpool, connection: Connection, root: Path | None, url: str, budget: int
    ) -> None:
        self.counters = Counters()
        self._wire, self._root, self._url, self._budget = connection, root, url, budget
        self._backoff = Backoff()
        self._own = self._delivery(locked)
        self._abandoned: list[Delivery] = []
        self._scan_at = 0.0
        self._condition = Condition()
        self._is_awake = self._stopped = False
        self._thread = Thread(target=self._run, name="loopscope-sender", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Wake the thread because there are lines; costs nothing when it is awake."""
        if not self._is_awake:
            with self._condition:
                self._is_awake = True
                self._condition.notify_all()

    def finish(self) -> None:
        """Mark the end of the producer's stream after its last line."""
        self._own.flush = True
        self.wake()

    def drained(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds until all lines are stored; return whether they are."""
        with self._condition:
            return (
                self._condition.wait_for(lambda: self._is_done or self.is_barred, timeout) and self._is_done
            )

    def stop(self, timeout: float) -> None:
        """Stop after the batch in flight and release the spool; wait at most `timeout` seconds for it."""
        with self._condition:
            self._stopped = True
            self._condition.notify_all()
        self._thread.join(timeout)

    @property
    def is_barred(self) -> bool:
        """Return whether the server refuses the token, so that nothing is sent any more."""
        return self.counters.state in ("unauthorized", "forbidden")

    @property
    def _is_done(self) -> bool:
        return self._own.is_idle and not self._abandoned and self._scan_at > 0

    def _run(self) -> None:
        while not self._stopped:
            try:
                wait = self._round()
            except Exception as error:  # noqa: BLE001  the disk may fail in any way; the thread goes on
                log.warning("lines wait in the spool: %s", error)
                self.counters.state, self.counters.error = "waiting", f"{type(error).__name__}: {error}"
                wait = self._backoff.next()
            self._rest(wait)
        for delivery in [self._own, *self._abandoned]:
            delivery.locked.close()
        self._wire.close()

    def _round(self) -> float | None:
        """Send a batch of each spool; return the seconds to wait, None to wait for `wake`."""
        if self.is_barred:
            return None
        self._is_awake = False
        self._scan()
        wait = 0.0
        for delivery in [self._own, *self._abandoned]:
            if not wait and not delivery.is_idle:
                wait = delivery.step()
        for delivery in [delivery for delivery in self._abandoned if delivery.is_idle]:
            delivery.locked.close()  # first, so that a caller of `drained` finds the folder removed
            self._abandoned.remove(delivery)
        if wait or not self._is_done:
            return wait
        self.counters.state = "idle"
        return None

    def _rest(self, wait: float | None) -> None:
        with self._condition:
            self._condition.notify_all()
            if self._stopped or wait == 0.0:
                return
            until = None if wait is None else monotonic() + wait
            while not self._stopped:
                if until is None and self._is_awake and not self.is_barred:
                    return
                left = SCAN_S if until is None else until - monotonic()
                if left <= 0 or (not self._condition.wait(left) and until is None and not self.is_barred):
                    return

    def _scan(self) -> None:
        if self._root is None or monotonic() < self._scan_at:
            return
        with suppress(OSError):
            self._abandoned += [
                self._delivery(locked) for locked in claim_abandoned(self._root, self._url, self._budget)
            ]
        self._scan_at = monotonic() + SCAN_S

    def _delivery(self, locked: LockedSpool) -> Delivery:
        return Delivery(locked, self._wire, self.counters, self._backoff)
