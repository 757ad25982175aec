"""Time of pages, and rate of ingest, as the store grows.

python -m bench.pages [--large] [--requests 30] [--database postgres://…]

The store grows to 1,000, 10,000 and 100,000 events, with `--large` to 1,000,000, over HTTP with four
producers; at each size every page is requested `--requests` times, the pages in turns.
"""

from __future__ import annotations

import argparse
import time

from bench.live import quantiles
from bench.support.machine import Target, loopscope, report
from bench.support.viewers import Reader
from bench.support.workload import tape
from bench.throughput import send

SIZES, LARGE = (1_000, 10_000, 100_000), 1_000_000
BATCH, PRODUCERS, CHUNK = 100, 4, 20_000
COLUMNS = ("events", "page", "p50 ms", "p95 ms", "**p95 : at 10,000**", "KiB")


def main() -> None:
    options = _options()
    with loopscope(options.database) as (target, server):
        reader = Reader(server)
        kind = "PostgreSQL" if server.environment.get("DATABASE_URL") else "SQLite"
        stored, rates, rows, at_10k = 0, [], [], {}
        for size in (*SIZES, LARGE) if options.large else SIZES:
            rates.append(grow(target, stored, size))
            stored = size
            for name, (p50, p95, kib) in measure(reader, options.requests).items():
                if size == 10_000:
                    at_10k[name] = p95
                ratio = f"**{p95 / at_10k[name]:.2f}**" if name in at_10k else ""
                rows.append((f"{size:,}", name, f"{p50:.0f}", f"{p95:.0f}", ratio, f"{kib:.0f}"))
        columns = ("events stored", "**events/s : at 10,000**", "events/s")
        sizes = (*SIZES, LARGE)
        grown = [
            (f"{sizes[n]:,}", f"**{rate / rates[1]:.2f}**", f"{rate:,.0f}") for n, rate in enumerate(rates)
        ]
        report(f"Pages, {kind}", f"{options.requests} requests a page.", COLUMNS, rows)
        note = f"Over the last chunk before each size. Memory afterwards: {target.rss_mib()} MiB."
        report(f"Ingest as the store grows, {kind}", note, columns, grown)


def grow(target: Target, stored: int, size: int) -> float:
    """Send events until there are `size`; return the rate of the last chunk."""
    rate = 0.0
    while stored < size:
        chunk = min(CHUNK, size - stored)
        names = [f"grow-{stored}-{n}" for n in range(PRODUCERS)]
        rate, _ = send(target, "HTTP", [tape(name, chunk // PRODUCERS, BATCH) for name in names])
        stored += chunk
    return rate


def measure(reader: Reader, requests: int) -> dict[str, tuple[float, float, float]]:
    """Return median, 95th percentile and size of each page."""
    loop = reader.server.read("/api/v1/loops?limit=1")["items"][0]
    pages = {
        "sessions list": "/p/default/sessions",
        "session": str(loop["url"]).rpartition("/loops/")[0],
        "loop": str(loop["url"]),
        "loop's events": f"{loop['url']}?tab=events",
        "API: 50 sessions": "/api/v1/sessions?limit=50",
    }
    times: dict[str, list[float]] = {name: [] for name in pages}
    sizes: dict[str, float] = {}
    for turn in range(requests + 1):
        for name, path in pages.items():
            started = time.perf_counter()
            sizes[name] = len(reader.get(path)) / 1024
            if turn:  # the first one warms caches
                times[name].append((time.perf_counter() - started) * 1000)
    return {name: (*quantiles(each), sizes[name]) for name, each in times.items()}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--large", action="store_true", help="up to 1,000,000 events: minutes, and gigabytes")
    parser.add_argument("--requests", type=int, default=30)
    parser.add_argument("--database", help="a PostgreSQL server; a new database is made in it")
    return parser.parse_args()


if __name__ == "__main__":
    main()
