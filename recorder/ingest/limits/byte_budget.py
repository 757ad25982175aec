"""Limit on the bytes that a process has received and not yet answered, over all connections.

Used on the event loop only. Requests beyond the limit wait in order, so that a request that began can finish.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

BUDGET_BYTES = 64 * 1024 * 1024

Granted = Callable[[], None]


class Budget:
    """Bytes in flight: at most `limit`, but a single larger request fits alone."""

    def __init__(self, limit: int = BUDGET_BYTES) -> None:
        self.limit = limit
        self.used = 0
        self._waiting: deque[tuple[int, Granted]] = deque()

    def fits(self, size: int) -> bool:
        return self.used == 0 or self.used + size <= self.limit

    def take(self, size: int) -> None:
        """Count bytes that have been received."""
        self.used += size

    def ask(self, size: int, granted: Granted) -> bool:
        """Take `size` and return True; or return False, and call `granted` when they have been taken."""
        if self._waiting or not self.fits(size):
            self._waiting.append((size, granted))
            return False
        self.used += size
        return True

    def forget(self, granted: Granted) -> None:
        """Withdraw a waiting request."""
        self._waiting = deque(each for each in self._waiting if each[1] != granted)

    def give(self, size: int) -> None:
        """Release bytes that were answered or dropped."""
        self.used -= size
        while self._waiting and self.fits(self._waiting[0][0]):
            size, granted = self._waiting.popleft()
            self.used += size
            granted()


budget = Budget()
