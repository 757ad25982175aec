"""Durable events a second over HTTP and WebSocket, and those of the floor in the same run.

python -m bench.throughput [--transports HTTP,WebSocket] [--producers 1,4,16] [--batches 1,10,100,500]
    [--rounds 3] [--floor FOLDER] [--database postgres://…]

Each round sends the same bytes to Loopscope and to the floor, one after the other; the table has medians. The
clock stops at the last acknowledgement. CPU is that of the whole server process. `--floor`, by default
LOOPSCOPE_FLOOR, names a folder with another floor, `floor_phi.py`, and another workload, `phi.py`.
"""

from __future__ import annotations

import argparse
import importlib
import os
import statistics
import sys
import threading
import time
from pathlib import Path

from bench.support.ingest_client import TRANSPORTS
from bench.support.machine import Target, floor, loopscope, report
from bench.support.workload import Batch, tape

EVENTS = {1: 1_000, 10: 4_000, 100: 10_000, 500: 10_000}  # in one measurement, by batch
COLUMNS = (
    "transport",
    "producers",
    "batch",
    "**events/s : floor**",
    "**CPU : floor**",
    "events/s",
    "floor",
    "CPU ms per 1,000",
    "floor's",
)


def main() -> None:
    options = _options()
    note = f"Medians of {options.rounds} interleaved rounds; floor: {_named(options.floor)}."
    with loopscope(options.database) as (ours, server), floor(options.floor) as theirs:
        kind = "PostgreSQL" if server.environment.get("DATABASE_URL") else "SQLite"
        send(ours, "HTTP", tapes(options.floor, "warm", 4, 100, 2_000))
        send(theirs, "HTTP", tapes(options.floor, "warm", 4, 100, 2_000))
        rows = [
            compare((ours, theirs), transport, producers, batch, options)
            for transport in options.transports
            for producers in options.producers
            for batch in options.batches
        ]
        note += f" Memory afterwards: {ours.rss_mib()} MiB, floor {theirs.rss_mib()} MiB."
    report(f"Throughput, {kind}", note, COLUMNS, rows)


def compare(
    targets: tuple[Target, Target], transport: str, producers: int, batch: int, options: argparse.Namespace
) -> tuple[object, ...]:
    """Return the row of one transport, number of producers and size of batches."""
    rates: list[list[float]] = [[], []]
    costs: list[list[float]] = [[], []]
    for round_ in range(options.rounds):
        name = f"{transport}-{producers}-{batch}-{round_}"
        given = tapes(options.floor, name, producers, batch, EVENTS.get(batch, 10_000))
        # Alternating order, because caches warm up.
        for which in (0, 1) if round_ % 2 == 0 else (1, 0):
            rate, cost = send(targets[which], transport, given)
            rates[which].append(rate)
            costs[which].append(cost)
    (ours, floor_), (cost, least) = map(statistics.median, rates), map(statistics.median, costs)
    print(
        f"{transport:9} {producers:3} x {batch:3}: {ours:8,.0f} of {floor_:8,.0f} events/s", file=sys.stderr
    )
    ratios = f"**{ours / floor_:.2f}**", f"**{cost / least:.2f}**"
    return (
        transport,
        producers,
        batch,
        *ratios,
        f"{ours:,.0f}",
        f"{floor_:,.0f}",
        f"{cost:.0f}",
        f"{least:.0f}",
    )


def send(target: Target, transport: str, given: list[list[Batch]]) -> tuple[float, float]:
    """Send tapes at once, one producer each; return events a second and CPU milliseconds per 1,000."""
    ready = threading.Barrier(len(given) + 1)
    failed: list[BaseException] = []

    def work(batches: list[Batch]) -> None:
        try:
            TRANSPORTS[transport](target.port, target.token, batches, ready)
        except BaseException as error:
            failed.append(error)
            ready.abort()
            raise

    threads = [threading.Thread(target=work, args=(batches,)) for batches in given]
    for thread in threads:
        thread.start()
    ready.wait()
    cpu, wall = target.cpu_s(), time.perf_counter()
    for thread in threads:
        thread.join()
    wall, cpu = time.perf_counter() - wall, target.cpu_s() - cpu
    if failed:
        raise failed[0]
    events = sum(batch.count for batches in given for batch in batches)
    return events / wall, cpu * 1e6 / events


def tapes(folder: Path | None, name: str, producers: int, batch: int, events: int) -> list[list[Batch]]:
    """Return the batches of each producer: our workload, or that of `phi.py` in the floor's folder."""
    if folder is None:
        return [tape(f"{name}-{n}", events // producers, batch) for n in range(producers)]
    where = str(next(folder.rglob("phi.py")).parent)
    if where not in sys.path:
        sys.path.append(where)
    made = importlib.import_module("phi").producers(producers, events // 4, batch)
    return [[Batch(each.producer, each.first, each.events, each.body) for each in some] for _, some in made]


def _named(folder: Path | None) -> str:
    return "`bench/support/floor.py`" if folder is None else "`floor_phi.py` of `--floor`, with its workload"


def _options() -> argparse.Namespace:
    def numbers(text: str) -> list[int]:
        return [int(word) for word in text.split(",")]

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--transports", type=lambda text: text.split(","), default=["HTTP", "WebSocket"])
    parser.add_argument("--producers", type=numbers, default=[1, 4, 16])
    parser.add_argument("--batches", type=numbers, default=list(EVENTS))
    parser.add_argument("--rounds", type=int, default=3)
    other = os.environ.get("LOOPSCOPE_FLOOR")
    parser.add_argument("--floor", type=Path, default=Path(other) if other else None)
    parser.add_argument("--database", help="a PostgreSQL server; a new database is made in it")
    return parser.parse_args()


if __name__ == "__main__":
    main()
