"""Counts of attempts within a time, by key: what limits guessing.

With `REDIS_URL` all nodes share the counts. Each process counts as well, in memory, and its own count holds
while Redis does not answer. Both tables are bounded, and the oldest count gives way.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from time import monotonic
from typing import TYPE_CHECKING

from django.conf import settings

if TYPE_CHECKING:
    from dashboard.security.shared_attempts import SharedAttempts

WINDOW_S = 60.0
ROWS = 20_000

Key = tuple[str, str]


class Attempts:
    """Counts by key. One ends `window_s` after its first attempt: they end in the order of insertion.

    Tables of the same name on several nodes are one. May be used from several threads.
    """

    def __init__(self, name: str, rows: int = ROWS, window_s: float = WINDOW_S) -> None:
        self._shared = _shared_attempts(name, rows, window_s)
        self._rows = rows
        self._window_s = window_s
        self._counts: OrderedDict[Key, tuple[float, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._counts)

    def count(self, key: Key) -> int:
        """Count an attempt; return how many there were within the window."""
        here = self._count(key)
        shared = self._shared.count(*key) if self._shared else None
        return here if shared is None else shared

    def forget(self, key: Key) -> None:
        """Forget the count of a key."""
        with self._lock:
            self._counts.pop(key, None)
        if self._shared:
            self._shared.forget(*key)

    def clear(self) -> None:
        """Forget all counts."""
        with self._lock:
            self._counts.clear()
        if self._shared:
            self._shared.clear()

    def _count(self, key: Key) -> int:
        now = monotonic()
        with self._lock:
            while self._counts and next(iter(self._counts.values()))[0] <= now:
                self._counts.popitem(last=False)
            ends_at, tries = self._counts.get(key, (now + self._window_s, 0))
            self._counts[key] = ends_at, tries + 1
            if len(self._counts) > self._rows:
                self._counts.popitem(last=False)
        return tries + 1


def _shared_attempts(name: str, rows: int, window_s: float) -> SharedAttempts | None:
    if not settings.REDIS_URL:
        return None
    from dashboard.security.shared_attempts import SharedAttempts  # noqa: PLC0415  an optional dependency

    return SharedAttempts(name, rows, window_s)
