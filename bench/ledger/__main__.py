"""What the block ledger costs: pages of it, and ingest beside a server without it.

python -m bench.ledger [--turns 1000000] [--requests 20] [--rounds 5]

The session of the tab Context is sent as events. The sums of the page Context & cache are inserted
(`bench.ledger.fill`), not made from calls. SQLite only. CPU is the server's. The first request of
a page reads everything, the next ones what is kept (ADR 28).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from statistics import median

from bench.live import quantiles
from bench.support.ingest_ratio import ingest_ratio
from bench.support.machine import Target, loopscope, report
from bench.support.viewers import Reader
from tests.recorder.ledger.long_session import CALLS as CALLS_A_BATCH
from tests.recorder.ledger.long_session import LOOP, turns
from tests.support import build
from tests.support.server import ROOT, Server
from tests.support.wait import until

CALLS = 1_000
COLUMNS = ("figure", "**value**", "aim")
Row = tuple[str, str, str]


def main() -> None:
    """Measure and print."""
    options = _options()
    with loopscope() as (target, server):
        rows = _session(target, server, options.requests)
    with loopscope() as (target, server):
        rows += _project(target, server, options.turns, options.requests)
    with loopscope() as (target, _), loopscope(LOOPSCOPE_LEDGER="0") as (without, _):
        rows.append(_ingest(target, without, options.rounds))
    note = f"{options.requests} requests a page; {options.rounds} rounds of ingest."
    report("Block ledger, SQLite", note, COLUMNS, rows)


def _session(target: Target, server: Server, requests: int) -> list[Row]:
    """Return the time of the tab Context of a session of CALLS turns, and of its conversation."""
    sent = [build.user("Begin.")]
    agent = server.agent("p")
    agent.send(build.agent_start(LOOP))
    for first in range(0, CALLS, CALLS_A_BATCH):
        agent.send(*turns(first, sent))
    path = "/api/v1/context?session_id=s"
    until(lambda: len(server.read(path)["turns"]) == CALLS, poll_s=2)  # each look takes the server long
    reader = Reader(server)
    page = server.session_url("s").removeprefix(server.url)
    return [
        _page(target, reader, page, f"conversation of {CALLS:,} turns, for comparison", requests, ""),
        _page(target, reader, f"{page}?tab=context", f"tab Context of {CALLS:,} turns", requests, "150 ms"),
    ]


def _ingest(target: Target, without: Target, rounds: int) -> Row:
    ratios, rate = ingest_ratio(target, without, rounds)
    value = f"**{median(ratios):.2f}** ({ratios[0]:.2f} to {ratios[-1]:.2f}), {rate:,.0f} events/s"
    return "ingest with the ledger : without", value, "0.9"


def _project(target: Target, server: Server, turns: int, requests: int) -> list[Row]:
    """Return the time of the page Context and cache of a project with the sums of so many turns."""
    environment = os.environ | server.environment
    words = (sys.executable, "-m", "bench.ledger.fill", str(turns))
    subprocess.run(words, cwd=ROOT, env=environment, check=True)
    reader = Reader(server)
    rows = [
        _page(target, reader, "/p/default/integrity", "a nearly empty page, for comparison", requests, "")
    ]
    for since, name in {"7d": "7 days", "14d": "14 days", "30d": "30 days, all turns"}.items():
        about = f"Context and cache, {turns:,} turns, {name}"
        path = f"/p/default/context?since={since}"
        rows.append(_page(target, reader, path, about, requests, "150 ms"))
    return rows


def _page(target: Target, reader: Reader, path: str, name: str, requests: int, aim: str) -> Row:
    started = time.perf_counter()
    reader.get(path)
    first_ms = (time.perf_counter() - started) * 1000
    times, cpu = [], target.cpu_s()
    for _ in range(requests):
        started = time.perf_counter()
        size = len(reader.get(path).encode())
        times.append((time.perf_counter() - started) * 1000)
    p50, p95 = quantiles(times)
    cpu_ms = (target.cpu_s() - cpu) * 1000 / requests
    about = f"p95 {p95:.0f}, CPU {cpu_ms:.0f}, the first {first_ms:.0f}"
    value = f"**{p50:.0f} ms** ({about}), {size / 1000:.0f} kB"
    return name, value, aim


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=1_000_000)
    parser.add_argument("--requests", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


if __name__ == "__main__":
    main()
