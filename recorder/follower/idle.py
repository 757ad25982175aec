"""A follower in the idle time of the writer thread, by the pace that the search index keeps to as well."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Protocol

from recorder.search.pace import Pace, Share

RUN_S = 0.1  # of steps in a row, before the writer looks after its other work
SOON_S = 0.02  # between looks at the queue while the follower is behind and the load is high
LATER_S = 2.0  # between looks for work that no batch announces


class Follower(Protocol):
    """A follower that runs steps; `touched` are the sessions that changed, by project."""

    touched: dict[int, set[int]]

    @property
    def is_behind(self) -> bool: ...

    def run(self, is_interrupted: Callable[[], bool], seconds: float) -> None:
        """Run steps."""


class IdleFollower:
    """Runs a follower between the commits of one writer."""

    def __init__(self, pace: Pace, follower: Follower, *, is_on: bool, run_s: float = RUN_S) -> None:
        self._pace, self._follower, self._is_on, self._run_s = pace, follower, is_on, run_s
        self._share = Share(pace)

    def run(self, is_interrupted: Callable[[], bool]) -> Mapping[int, set[int]]:
        """Run the steps that the load allows; return the sessions that changed, by project.

        Under full load a waiting batch does not keep a step from beginning.
        """
        if not self._is_on or not self._share.may_run() or (is_interrupted() and not self._pace.is_busy):
            return {}
        began = time.monotonic()
        self._follower.run(is_interrupted, self._run_s)
        self._share.ran(time.monotonic() - began)
        touched, self._follower.touched = self._follower.touched, {}
        return touched

    def due_in_s(self, otherwise: float) -> float:
        """Return how long the writer may wait for a batch."""
        if not self._is_on:
            return otherwise
        if self._follower.is_behind:
            return min(otherwise, SOON_S if self._pace.is_busy else 0.0)
        return min(otherwise, LATER_S)
