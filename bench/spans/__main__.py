"""Durable spans a second over OTLP, and those of the floor in the same run.

python -m bench.spans [--workloads runs,long,noise,history] [--senders 4] [--size 100] [--spans 20000]
    [--rounds 3] [--database postgres://…]

Each round sends the same bodies, in protobuf, to Loopscope and to the floor, one after the other; the table
has medians. The clock stops at the last acknowledgement. Then Loopscope reads what it acknowledged: "read
behind" are the spans a second from the first body to the end of the reading. A body of noise has few spans
that cost a record.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from bench.spans.workload import WORKLOADS, bodies
from bench.support.machine import Target, floor, loopscope, report
from bench.throughput import send

COLUMNS = ("workload", "**spans/s : floor**", "spans/s", "floor", "read behind", "memory MiB")


def main() -> None:
    options = _options()
    with loopscope(options.database) as (ours, server), floor() as theirs:
        kind = "PostgreSQL" if server.environment.get("DATABASE_URL") else "SQLite"
        _warm_up(ours, theirs)
        rows = [_compared(ours, theirs, workload, options) for workload in options.workloads]
    note = (
        f"{options.senders} senders, bodies of {options.size} spans, {options.spans:,} spans a round; "
        f"medians of {options.rounds} interleaved rounds; floor: `bench/support/floor.py`."
    )
    report(f"Spans, {kind}", note, COLUMNS, rows)


def _warm_up(*targets: Target) -> None:
    for target in targets:
        send(target, "OTLP", [bodies("runs", f"warm-{n}", 500, 50) for n in range(4)])


def _compared(ours: Target, theirs: Target, workload: str, options: argparse.Namespace) -> tuple[object, ...]:
    """Return the row of one workload."""
    rates: list[list[float]] = [[], []]
    read: list[float] = []
    for round_ in range(options.rounds):
        share = 5 if workload == "history" else 1  # its spans are large
        spans = options.spans // share
        given = [
            bodies(workload, f"{n}-{round_}", spans // options.senders, options.size // share)
            for n in range(options.senders)
        ]
        for which, target in enumerate((ours, theirs)):
            with _reading(target if which == 0 else None, spans, read):
                rates[which].append(send(target, "OTLP", given)[0])
    stored, least = map(statistics.median, rates)
    print(f"{workload:8}: {stored:8,.0f} of {least:8,.0f} spans/s", file=sys.stderr)
    behind = f"{statistics.median(read):,.0f}"
    return workload, f"**{stored / least:.2f}**", f"{stored:,.0f}", f"{least:,.0f}", behind, ours.rss_mib()


@contextmanager
def _reading(target: Target | None, spans: int, rates: list[float]) -> Iterator[None]:
    """Wait after the block until Loopscope has read everything; note spans a second since its start."""
    begun = time.perf_counter()
    yield
    while target is not None and _waiting_bytes(target):
        time.sleep(0.05)  # polled: the server pushes no metrics
    if target is not None:
        rates.append(spans / (time.perf_counter() - begun))


def _waiting_bytes(target: Target) -> float:
    request = urllib.request.Request(
        f"http://127.0.0.1:{target.port}/metrics", headers={"Authorization": f"Bearer {target.token}"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        text = answer.read().decode()
    return float(text.partition("\nloopscope_spans_waiting_bytes ")[2].partition("\n")[0])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workloads", type=lambda text: text.split(","), default=list(WORKLOADS))
    parser.add_argument("--senders", type=int, default=4)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--spans", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--database", help="a PostgreSQL server; a new database is made in it")
    return parser.parse_args()


if __name__ == "__main__":
    main()
