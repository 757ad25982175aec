"""The windows of this process: each is taken for one transaction and returned after its commit.

A window that is taken is in no other transaction. At most KEPT_BYTES of unused windows are kept, the most
recently used ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from threading import Lock

from recorder.journal.delta.dedup_window import Window

KEPT_BYTES = 48 * 1024 * 1024


class Windows:
    """The windows of one transaction. A rollback drops them, since they know lines that are not stored."""

    def __init__(self) -> None:
        self._taken: dict[int, Window] = {}

    def of(self, producer: int, high: int, day: date, deletions: int = 0) -> Window:
        """Return a producer's window, a new one if the kept one may not be used any more.

        It may not on another day, with lines beyond `high`, or after a deletion, which may have deleted lines
        that it knows: `deletions` is their number so far.
        """
        found = self._taken.get(producer) or _shelf.take(producer)
        if found is None or found.high > high or found.day != day or found.deletions != deletions:
            found = Window(day)
            found.deletions = deletions
        self._taken[producer] = found
        return found

    def keep(self, high: Mapping[int, int]) -> None:
        """Return the windows after the commit, with the high water of each producer."""
        for producer, window in self._taken.items():
            window.high = high[producer]
            _shelf.put(producer, window)


class _Shelf:
    """Unused windows in the order of their last use; the oldest are dropped when they exceed KEPT_BYTES."""

    def __init__(self) -> None:
        self._windows: dict[int, tuple[Window, int]] = {}
        self._size = 0
        self._lock = Lock()

    def take(self, producer: int) -> Window | None:
        with self._lock:
            return self._take(producer)

    def put(self, producer: int, window: Window) -> None:
        with self._lock:
            self._take(producer)
            self._windows[producer] = window, window.size
            self._size += window.size
            while self._size > KEPT_BYTES:
                self._take(next(iter(self._windows)))

    def _take(self, producer: int) -> Window | None:
        window, size = self._windows.pop(producer, (None, 0))
        self._size -= size
        return window


_shelf = _Shelf()
