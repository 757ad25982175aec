"""Time of the pages of a session of 10,000 events as of any event: the first request, and later ones.

python -m bench.as_of [--requests 30] [--database postgres://…]

`first` is the first as-of request of the process, at the last event. The others are at random events.
"""

from __future__ import annotations

import argparse
import json
import random
import time

from bench.live import quantiles
from bench.support import workload
from bench.support.machine import Target, loopscope, report
from bench.support.viewers import Reader
from bench.throughput import send

EVENTS, BATCH = 10_000, 100
COLUMNS = ("page", "**p50 ms**", "p95 ms", "**CPU ms**", "**CPU : the present**", "KiB")


def main() -> None:
    options = _options()
    workload.LOOPS_A_SESSION = EVENTS
    with loopscope(options.database) as (target, server):
        send(target, "HTTP", [workload.tape("long", EVENTS, BATCH)])
        kind = "PostgreSQL" if server.environment.get("DATABASE_URL") else "SQLite"
        rows = measure(target, Reader(server), options.requests)
        note = f"{EVENTS:,} events in one session; {options.requests} requests a page."
        report(f"As of an event, {kind}", f"{note} Memory afterwards: {target.rss_mib()} MiB.", COLUMNS, rows)


def measure(target: Target, reader: Reader, requests: int) -> list[tuple[str, ...]]:
    """Return the row of each page."""
    item = reader.server.read("/api/v1/sessions")["items"][0]
    lines = reader.get(f"/api/v1/sessions/{item['session_id']}/events?envelope=1&project=default")
    events = [json.loads(line)["id"] for line in lines.splitlines()]
    chance, url = random.Random(1), str(item["url"])
    reader.get(url)
    pages = {
        "the present": [url] * requests,
        "as of the last event, first": [f"{url}?at={events[-1]}"],
        "as of any event": [f"{url}?at={chance.choice(events)}" for _ in range(requests)],
        "its events, as of any": [f"{url}?tab=events&at={chance.choice(events)}" for _ in range(requests)],
        "timeline": [f"{url}?tab=timeline"] * requests,
    }
    rows, present = [], 0.0
    for name, paths in pages.items():
        times, cpu = [], target.cpu_s()
        for path in paths:
            started = time.perf_counter()
            size = len(reader.get(path)) / 1024
            times.append((time.perf_counter() - started) * 1000)
        cpu_ms = (target.cpu_s() - cpu) / len(paths) * 1000
        present = present or cpu_ms
        p50, p95 = quantiles(times) if len(times) > 1 else (times[0], times[0])
        ratio = f"**{cpu_ms / present:.1f}**"
        rows.append((name, f"**{p50:.0f}**", f"{p95:.0f}", f"**{cpu_ms:.0f}**", ratio, f"{size:.0f}"))
    return rows


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=30)
    parser.add_argument("--database", help="a PostgreSQL server; a new database is made in it")
    return parser.parse_args()


if __name__ == "__main__":
    main()
