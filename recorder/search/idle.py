"""Indexing in the idle time of the writer thread."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.conf import settings

from recorder.search.indexer import Indexer
from recorder.search.pace import Pace, Share

RUN_S = 0.2  # of steps in a row, before the writer looks after its other work
SOON_S = 0.02  # between looks at the queue while the index is behind and the load is high


class IdleIndexing:
    """Runs the indexer between the commits of one writer."""

    def __init__(self) -> None:
        self.pace = Pace()
        self._share = Share(self.pace)
        self._indexer = Indexer()
        self._is_on: bool = settings.LOOPSCOPE_SEARCH

    def run(self, is_interrupted: Callable[[], bool]) -> set[int]:
        """Index what the load allows; return the projects that have new documents.

        Under full load a waiting batch does not keep a step from beginning.
        """
        if not self._is_on or not self._share.may_run():
            return set()
        if is_interrupted() and not self.pace.is_busy:
            return set()
        began = time.monotonic()
        self._indexer.run(is_interrupted, RUN_S)
        self._share.ran(time.monotonic() - began)
        indexed, self._indexer.indexed = self._indexer.indexed, set()
        return indexed

    def due_in_s(self, otherwise: float) -> float:
        """Return how long the writer may wait for a batch."""
        if not self._is_on or not self._indexer.is_behind:
            return otherwise
        return min(otherwise, SOON_S if self.pace.is_busy else 0.0)
