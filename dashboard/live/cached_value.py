"""Parts of pages that many rows are read for, such as totals, kept for the next requests.

Small values are in Django's cache (`cached`), those that take long to pickle are not (`ProcessCache`).

Invariant: a cached value is returned only while the journal has no later line and this process has seen no
invalidation of the project. What causes neither (the passing of time, or a command in another process that
records no line) is seen after `seconds`. An open page redraws such a panel no more often, and never uses
cached values: a panel that became stale with time is redrawn once.

Cost: one query for the newest line, by its primary key.
"""

from __future__ import annotations

import hashlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from time import monotonic
from typing import Any, Generic, NamedTuple, TypeVar

from django.core.cache import cache

from dashboard.shared.compiled_query import select
from recorder.pubsub import invalidation

T = TypeVar("T")
VALUES = 64  # of a `ProcessCache`, however small they are

_changes: Counter[int] = Counter()  # invalidations by project
_all: list[ProcessCache[Any]] = []


def cached(name: str, project: int, query: str, seconds: float, compute: Callable[[], T]) -> T:
    """Return what `compute` returned for this project and query string, or call it.

    `name` distinguishes values of the same query. Values are pickled: they must not be querysets.
    """
    stamp = _stamp(project)
    key = f"{name}:{project}:{hashlib.sha256(query.encode()).hexdigest()}"
    found = cache.get(key)
    if found is not None and found[0] == stamp:
        value: T = found[1]
        return value
    value = compute()
    cache.set(key, (stamp, value), timeout=seconds)
    return value


class _Value(NamedTuple, Generic[T]):
    stamp: tuple[int, int]
    until: float
    size: int
    value: T


class ProcessCache(Generic[T]):
    """Values of this process, the last used ones up to a total size. Requests share them and change none.

    `size` measures a value; one above `most` is not kept. At most `VALUES` are.
    """

    def __init__(self, size: Callable[[T], int], most: int, seconds: float) -> None:
        self._size, self._most, self._seconds = size, most, seconds
        self._values: OrderedDict[Hashable, _Value[T]] = OrderedDict()
        self._lock = Lock()
        _all.append(self)

    def get(self, project: int, key: Hashable, compute: Callable[[], T]) -> T:
        """Return what `compute` returned for this key, or call it."""
        stamp = _stamp(project)
        with self._lock:
            found = self._values.get(key)
            if found is not None and found.stamp == stamp and monotonic() < found.until:
                self._values.move_to_end(key)
                return found.value
        value = compute()
        size = self._size(value)
        if size > self._most:
            return value
        with self._lock:
            self._values[key] = _Value(stamp, monotonic() + self._seconds, size, value)
            self._values.move_to_end(key)
            while len(self._values) > VALUES or sum(each.size for each in self._values.values()) > self._most:
                self._values.popitem(last=False)
        return value

    def clear(self) -> None:
        """Forget all values."""
        with self._lock:
            self._values.clear()


def forget() -> None:
    """Clear each `ProcessCache`, as tests do: an emptied database gets other records by their keys."""
    for each in _all:
        each.clear()


def _stamp(project: int) -> tuple[int, int]:
    """Return a stamp that later values do not have.

    Read before the value is computed: after a change in between, the value is not used again.
    """
    return _newest_line(), _changes[project]


def _newest_line() -> int:
    return int(select("SELECT COALESCE(MAX(id), 0) FROM recorder_journalevent")[0][0])


def _count(touched: invalidation.Invalidation) -> None:
    _changes[touched.project] += 1


invalidation.subscribe(_count)
