"""The wait of the tests: polls a condition, with one generous limit.

How long something takes depends on the machine, so no test asserts it: `tests/architecture/test_times.py`
holds that this module alone compares a clock with a limit. `bench/` measures times.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, sleep
from typing import TypeVar

T = TypeVar("T")

LONGEST_S = 150.0  # many times what any wait takes, also on a busy machine; below the limit of a test
POLL_S = 0.02


def until(
    holds: Callable[[], T],
    why: str | Callable[[], str] = "the condition does not hold",
    *,
    longest_s: float = LONGEST_S,
    poll_s: float = POLL_S,
    pause: Callable[[float], object] = sleep,
) -> T:
    """Return the first true result of `holds`, called every `poll_s` seconds.

    `pause` waits so long; that of a page of Playwright also lets in what the browser sends.

    Raises AssertionError with `why`, or what it returns, after `longest_s` seconds.
    """
    deadline = monotonic() + longest_s
    while not (result := holds()):
        if monotonic() > deadline:
            raise AssertionError(why if isinstance(why, str) else why())
        pause(poll_s)  # polled: a condition of another process reports nothing
    return result
