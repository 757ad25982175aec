"""Parts of pages that many rows are read for, such as totals, in Django's cache for the next requests.

Invariant: a cached value is returned only while the journal has no later line and this process has seen no
invalidation of the project. What causes neither (the passing of time, or a command in another process that
records no line) is seen after `seconds`. An open page redraws such a panel no more often, and never uses
cached values: a panel that became stale with time is redrawn once.

Cost: one query for the newest line, by its primary key.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from django.core.cache import cache

from dashboard.shared.compiled_query import select
from recorder.pubsub import invalidation

T = TypeVar("T")

_changes: Counter[int] = Counter()  # invalidations by project


def cached(name: str, project: int, query: str, seconds: float, compute: Callable[[], T]) -> T:
    """Return what `compute` returned for this project and query string, or call it.

    `name` distinguishes values of the same query. Values are pickled: they must not be querysets.
    """
    # Read before the value is computed: after a change in between, the value is not used again.
    stamp = (_newest_line(), _changes[project])
    key = f"{name}:{project}:{hashlib.sha256(query.encode()).hexdigest()}"
    found = cache.get(key)
    if found is not None and found[0] == stamp:
        value: T = found[1]
        return value
    value = compute()
    cache.set(key, (stamp, value), timeout=seconds)
    return value


def _newest_line() -> int:
    return int(select("SELECT COALESCE(MAX(id), 0) FROM recorder_journalevent")[0][0])


def _count(touched: invalidation.Invalidation) -> None:
    _changes[touched.project] += 1


invalidation.subscribe(_count)
