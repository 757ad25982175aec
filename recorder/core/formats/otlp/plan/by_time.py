"""Items in order of their start, to be searched by time.

The items that have not ended at a moment are looked for behind the first one whose end, or that of one
before it, is so late. That is two bisections, and reads only what is returned unless an item lasts long.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, islice
from typing import Generic, TypeVar

from recorder.core.formats.otlp.spans.digest import Digest

T = TypeVar("T")


class ByTime(Generic[T]):
    """Items that `span_of` gives a start and an end, in order of the start. Times are in nanoseconds."""

    def __init__(self, items: Sequence[T], span_of: Callable[[T], Digest]) -> None:
        self._items = items
        self._ends = [span_of(item).end for item in items]
        self._starts = [span_of(item).start for item in items]
        self._latest = list(accumulate(self._ends, max))  # end of an item and of all before it

    def between(self, since: int, until: int) -> Iterator[T]:
        """Yield the items that end at `since` or later and start at `until` or before, in their order."""
        first, last = bisect_left(self._latest, since), bisect_right(self._starts, until)
        for item, end in islice(zip(self._items, self._ends, strict=True), first, last):
            if end >= since:
                yield item
