"""The scores that wait for the server: a spool beside that of the events, sent one request each.

A score exists once for each token, name, target and id, so sending one again is harmless. Its loop may not
be stored yet, because events wait in a spool of their own: then it is tried again, for about a minute.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from threading import RLock

from loopscope_client.transport import spool_folders
from loopscope_client.transport.delivery import BYTES, Delivery
from loopscope_client.transport.http import Connection
from loopscope_client.transport.sender import Sender
from loopscope_client.transport.spool import State
from loopscope_client.transport.spool_folders import LockedSpool

log = logging.getLogger(__name__)
KIND = "Score"
UNKNOWN_TRIES = 30  # of a score whose session or loop is not stored; the waits between them grow to 5 s
REFUSED = (400, 404, 405, 413, 415, 422)


class ScoreDelivery(Delivery):
    """Delivery of one spool of scores; a score that the server refuses is logged, counted and left out."""

    def step(self) -> float:
        """Send one score and return how many seconds to wait before the next."""
        spool = self.locked.spool
        if not self._lines:
            self._at, self._lines = spool.take(1, BYTES)
            self.backoff.tries = 0
        if not self._lines:
            return 0.0
        response = self.connection.post_score(self._lines[0])
        if response.status in (200, 201):
            self.counters.sent += 1
        elif response.status == 404 and self.backoff.tries < UNKNOWN_TRIES:
            return self._refused(response)
        elif response.status in REFUSED:
            self.counters.rejected += 1
            self.counters.last_rejection = str(response.body.get("message") or response.error)
            log.warning("a score was refused: %s", self.counters.last_rejection)
        else:
            return self._refused(response)
        self._reset_backoff()
        self._lines = []
        spool.done(self._at + 1)
        return 0.0


class _ScoreSender(Sender):
    def _delivery(self, locked: LockedSpool) -> Delivery:
        return ScoreDelivery(locked, self._wire, self.counters, self._backoff)


class Scores:
    """The scores of a client. Its spool opens with the first score, or for those of a terminated process."""

    def __init__(self, root: Path, url: str, connect: Callable[[], Connection], budget: int) -> None:
        self._root, self._url, self._connect, self._budget = root, f"{url}#scores", connect, budget
        self._lock = RLock()
        self._locked: LockedSpool | None = None
        self._sender: _ScoreSender | None = None
        if self._has_left():
            self._open()

    @property
    def waiting(self) -> int:
        """Number of scores that the server has not answered."""
        return self._locked.spool.waiting if self._locked else 0

    @property
    def rejected(self) -> int:
        return self._sender.counters.rejected if self._sender else 0

    @property
    def last_rejection(self) -> str:
        return self._sender.counters.last_rejection if self._sender else ""

    def append(self, line: bytes) -> bool:
        """Append a score; return False when the spool has no room for it."""
        with self._lock:
            locked, sender = self._open()
        is_appended = locked.spool.append(line, KIND, None)
        sender.wake()
        return is_appended

    def drained(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds until all scores are answered; return whether they are."""
        if self._sender is None:
            return True
        self._sender.wake()
        return self._sender.drained(timeout)

    def stop(self, timeout: float) -> None:
        if self._sender is not None:
            self._sender.stop(timeout)

    def abandon(self) -> None:
        """Close the files in a forked process."""
        if self._locked is not None:
            self._locked.abandon()

    def _open(self) -> tuple[LockedSpool, _ScoreSender]:
        if self._locked is None or self._sender is None:
            self._locked = spool_folders.claim(self._root, self._url, None, self._budget)
            self._sender = _ScoreSender(self._locked, self._connect(), self._root, self._url, self._budget)
            self._sender.start()
        return self._locked, self._sender

    def _has_left(self) -> bool:
        states = (State.read(folder) for folder in self._root.iterdir() if folder.is_dir())
        return any(state is not None and state.url == self._url for state in states)
