"""The end of a command that follows files: behind SIGTERM or SIGINT there is time for one last round.

A further signal, or the end of that time, breaks the round off with `TimeIsUpError`, also in the middle of a
request: what was not acknowledged is sent again at the next start.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from time import monotonic, sleep

LAST_S = 5.0  # of the last round
LOOK_S = 0.1  # between two looks whether a signal came
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class TimeIsUpError(Exception):
    """The last round took too long, or another signal came."""


class Stop:
    """Whether a signal came that stops the command.

    Without locks: a handler that waits for one which the thread it interrupts holds would wait for ever.
    """

    def __init__(self) -> None:
        self._numbers = count()  # of the signals
        self._came = self._is_over = False

    def is_set(self) -> bool:
        return self._came

    def wait(self, seconds: float) -> None:
        """Wait until the first signal, but no longer than some seconds."""
        end = monotonic() + seconds
        while not self._came and (left := end - monotonic()) > 0:
            sleep(min(left, LOOK_S))  # a handler cannot wake up what waits for a lock

    def end(self) -> None:
        """Take no more signals: the command is about to exit."""
        self._is_over = True
        _alarm(0)

    def take(self, *_: object) -> None:
        """Take a signal. Raises TimeIsUpError if it is not the first one."""
        if self._is_over:
            return
        if next(self._numbers):
            raise TimeIsUpError
        self._came = True
        _alarm(LAST_S)


@contextmanager
def stopped_by_signals() -> Iterator[Stop]:
    """Yield what takes the signals meanwhile. Only for the main thread."""
    stop = Stop()
    names = (*_SIGNALS, *([signal.SIGALRM] if hasattr(signal, "SIGALRM") else []))
    before = {name: signal.signal(name, stop.take) for name in names}
    try:
        yield stop
    finally:
        stop.end()
        for name, handler in before.items():
            signal.signal(name, handler)


def _alarm(seconds: float) -> None:
    if hasattr(signal, "setitimer"):  # not on Windows, where the last round has no limit but that of requests
        signal.setitimer(signal.ITIMER_REAL, seconds)
