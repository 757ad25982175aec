"""Decides when the writer thread may do what comes behind it: in idle time, and a little under full load.

The load is the part of the time in which this process computes, or its writer commits, without what is done
behind it. Below `BUSY` that runs whenever no batch waits. Above it each kind of work (search index, waste,
block ledger) runs only while it has had less than `SHARE` of the time, whatever the others had, so that
recording keeps its rate and none of them stands still.

Cost: two clock readings a step.
"""

from __future__ import annotations

import time

BUSY = 0.75
SHARE = 0.04  # of the time, for each kind of work
PERIOD_S = 1.0  # over which the load is measured


class Pace:
    """The load of one writer."""

    def __init__(self) -> None:
        self._began = self._cpu = self._writing = self._behind = 0.0
        self.load = 0.0
        self._start()

    @property
    def is_busy(self) -> bool:
        return self.load >= BUSY

    def wrote(self, seconds: float) -> None:
        """Count the time of a commit."""
        self._writing += seconds

    def worked(self, seconds: float) -> None:
        """Count the time of work behind the writer."""
        self._behind += seconds

    def measure(self) -> None:
        """Look at the load of the last period, once it has passed."""
        passed = time.monotonic() - self._began
        if passed >= PERIOD_S:
            rest = max(passed - self._behind, 0.001)
            computed = time.process_time() - self._cpu - self._behind
            self.load = max(computed, self._writing) / rest
            self._start()

    def _start(self) -> None:
        self._began, self._cpu = time.monotonic(), time.process_time()
        self._writing = self._behind = 0.0


class Share:
    """The times at which one kind of work may run."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._rested_at = 0.0  # when it may run again under full load

    def may_run(self) -> bool:
        """Return whether a step may run now."""
        self._pace.measure()
        return not self._pace.is_busy or time.monotonic() >= self._rested_at

    def ran(self, seconds: float) -> None:
        """Count the time of a step."""
        self._pace.worked(seconds)
        self._rested_at = time.monotonic() + seconds * (1 / SHARE - 1)
