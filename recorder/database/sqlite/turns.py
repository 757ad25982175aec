"""Turns of the threads of a process that write to one SQLite database: first come, first served.

SQLite has a connection poll for the lock of the one writer, ever more rarely, and fails it after a timeout.
A thread that writes one transaction after another, as that of `ingest.commit` does under load, frees the lock
for moments that a poll seldom meets: a request that writes an entry of the audit log would be refused though
no transaction is long. So threads wait here first, and only other processes are polled for.
"""

from __future__ import annotations

from collections import deque
from threading import Event, Lock


class Turns:
    """A lock that goes to the thread that has waited longest."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._is_taken = False
        self._waiting: deque[Event] = deque()

    def take(self, timeout_s: float) -> bool:
        """Wait for the turn; return whether it came in time. Not reentrant."""
        with self._lock:
            if not self._is_taken:
                self._is_taken = True
                return True
            mine = Event()
            self._waiting.append(mine)
        mine.wait(timeout_s)
        with self._lock:
            if not mine.is_set():
                self._waiting.remove(mine)
        return mine.is_set()

    def end(self) -> None:
        """Pass the turn on to the thread that has waited longest."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._is_taken = False
