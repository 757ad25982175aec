"""Items in order of their start, to be searched by time.

The items that have not ended at a moment are found with a tree of the latest ends: each leaf is the end of an
item, each node above the later of the two below. Cost: O(log n) for each item that is returned.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import Generic, TypeVar

from recorder.core.formats.otlp.spans.digest import Digest

T = TypeVar("T")


class ByTime(Generic[T]):
    """Items that `span_of` gives a start and an end, in order of the start. Times are in nanoseconds."""

    def __init__(self, items: Sequence[T], span_of: Callable[[T], Digest]) -> None:
        self._items = items
        self._starts = [span_of(item).start for item in items]
        self._size = 1 << max(0, len(items) - 1).bit_length()
        ends: list[float] = [span_of(item).end for item in items]
        self._latest = [-inf] * self._size + ends + [-inf] * (self._size - len(ends))
        for node in range(self._size - 1, 0, -1):
            self._latest[node] = max(self._latest[2 * node], self._latest[2 * node + 1])

    def between(self, since: int, until: int) -> Iterator[T]:
        """Yield the items that end at `since` or later and start at `until` or before, in their order."""
        last = bisect_right(self._starts, until)
        place = self._next(0, since)
        while place < last:
            yield self._items[place]
            place = self._next(place + 1, since)

    def _next(self, place: int, since: int) -> int:
        """Return the first place from this one on whose item ends at `since` or later; else their number."""
        if place >= self._size:
            return len(self._items)
        node = place + self._size
        while self._latest[node] < since:
            while node & 1:  # the right one of two: what is right of both is next
                node >>= 1
            if node == 0:
                return len(self._items)
            node += 1
        while node < self._size:
            node = 2 * node if self._latest[2 * node] >= since else 2 * node + 1
        return node - self._size
