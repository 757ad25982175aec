"""Ingest of a server beside one that leaves out a part of the work, as a ratio of their rates."""

from __future__ import annotations

import statistics

from bench.support.machine import Target
from bench.throughput import send, tapes

SENDERS, BATCH, EVENTS = 4, 100, 20_000


def ingest_ratio(whole: Target, without: Target, rounds: int) -> tuple[list[float], float]:
    """Return the ratio of each round, ascending, and the median of `whole` in events a second.

    Both servers get the same bytes from four senders over HTTP, one after the other in turns.
    """
    rates: dict[Target, list[float]] = {whole: [], without: []}
    for number in range(rounds + 1):
        for target in (whole, without) if number % 2 else (without, whole):
            rate, _cpu = send(target, "HTTP", tapes(None, f"round-{number}", SENDERS, BATCH, EVENTS))
            if number:  # the first one warms up
                rates[target].append(rate)
    ratios = sorted(one / other for one, other in zip(*rates.values(), strict=True))
    return ratios, statistics.median(rates[whole])
