"""The stream of a producer of the fault tools: line `n` is a function of the producer's name and `n`."""

from __future__ import annotations

from functools import lru_cache

from tests.support.build import line, small_loop, time, tool_end, tool_start

LOOPS_A_SESSION = 40


@lru_cache(maxsize=4096)
def _loop(producer: str, number: int) -> list[bytes]:
    session = f"{producer}-{number // LOOPS_A_SESSION}"
    loop = f"{session}.a.{number}"
    first, *middle, last = small_loop(loop, text=f"Answer {number}.")
    call = f"c{number}"
    tools = [tool_start(loop, call, timestamp=time(3)), tool_end(loop, call, timestamp=time(4))]
    events = (first, *middle, *tools, last)
    start = number * len(events)
    return [line({**event, "mark": f"<{producer}:{n}>"}) for n, event in enumerate(events, start=start)]


LOOP_LINES = len(_loop("x", 0))
SESSION_LINES = LOOP_LINES * LOOPS_A_SESSION


def nth(producer: str, number: int) -> bytes:
    """Return a producer's line of this number."""
    return _loop(producer, number // LOOP_LINES)[number % LOOP_LINES]


def lines(producer: str, first: int, count: int) -> list[bytes]:
    return [nth(producer, number) for number in range(first, first + count)]


def sessions(producer: str, count: int) -> list[str]:
    """Return the sessions that the first `count` lines belong to."""
    return [f"{producer}-{number}" for number in range(-(-count // SESSION_LINES))]
