"""Search under load: ingest of a server that indexes beside one that does not, and how far the index lags.

python -m bench.search.under_load [--rounds 5] [--rate 1000] [--seconds 30] [--database postgres://…]

Both servers get the same bytes from four senders over HTTP, one after the other in turns. Then the one that
indexes gets `rate` events a second, and the lag of its answers is read twice a second. At last it gets events
as fast as it takes them, and the time is measured until its index has all of them.
"""

from __future__ import annotations

import argparse
import statistics
import threading
import time

from bench.support.ingest_client import post
from bench.support.ingest_ratio import BATCH, EVENTS, SENDERS, ingest_ratio
from bench.support.machine import Target, loopscope
from bench.support.workload import tape
from bench.throughput import send, tapes
from tests.support.server import Server

EVERY_S = 0.1  # of the steady load


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rate", type=int, default=1_000)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--database")
    given = parser.parse_args()
    with (
        loopscope(given.database) as (indexing, server),
        loopscope(given.database, LOOPSCOPE_SEARCH="0") as (plain, _),
    ):
        _ratio(indexing, plain, given.rounds)
        _until_indexed(server)
        _steady(indexing, server, given.rate, given.seconds)
        _until_indexed(server)
        rate, _cpu = send(indexing, "HTTP", tapes(None, "flood", SENDERS, BATCH, 10 * EVENTS))
        lag = server.read("/api/v1/search?q=x")["index"]
        took = _until_indexed(server)
        print(f"after {10 * EVENTS:,} events at {rate:,.0f}/s: {lag['lag_s']:.1f} s behind, for {took:.1f} s")


def _ratio(indexing: Target, plain: Target, rounds: int) -> None:
    ratios, rate = ingest_ratio(indexing, plain, rounds)
    print(
        f"ingest with the index : without, median of {rounds} rounds  {statistics.median(ratios):.2f}"
        f" ({ratios[0]:.2f} to {ratios[-1]:.2f}); {rate:,.0f} events/s"
    )


def _steady(target: Target, server: Server, rate: int, seconds: int) -> None:
    size = int(rate * EVERY_S)
    batches = tape("steady", rate * seconds, size)
    lags: list[float] = []
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(0.5):
            lags.append(server.read("/api/v1/search?q=x")["index"]["lag_s"])

    watching = threading.Thread(target=watch)
    watching.start()
    ready = threading.Barrier(1)
    began, late = time.monotonic(), 0.0
    for number, batch in enumerate(batches):
        late = max(late, time.monotonic() - began - number * EVERY_S)
        time.sleep(max(0.0, began + number * EVERY_S - time.monotonic()))  # until its turn
        post(target.port, target.token, [batch], ready)
    is_over.set()
    watching.join()
    print(f"{rate:,} events/s for {seconds} s, sent at most {late:.1f} s late:")
    print(f"lag at most {max(lags):.1f} s, median {statistics.median(lags):.2f} s")


def _until_indexed(server: Server) -> float:
    began = time.monotonic()
    while server.read("/api/v1/search?q=x")["index"]["events"]:
        time.sleep(0.1)  # between looks
    return time.monotonic() - began


if __name__ == "__main__":
    main()
