"""A store of 1,000,000 events against one of 10,000: the list of sessions and the rate of ingest, in turns.

python -m bench.million [--rounds 5] [--requests 40] [--copies 99]

Both stores record 100 ended sessions of 100 events; then one server is stopped, its rows are copied with new
ids, and it is started again. SQLite only. Each measurement is made on both, one after the other.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import time
from contextlib import closing

from bench.live import quantiles
from bench.support.machine import Target, loopscope, report
from bench.support.viewers import Reader
from bench.support.workload import Batch, tape
from bench.throughput import send
from tests.support.server import Server

SESSIONS, EVENTS, PRODUCERS, APART = 100, 100, 4, 10**7
TABLES = ("producer", "session", "looprecord", "turn", "toolcall", "journalevent", "eventrecord")
NAMES = {("producer", "name"), ("session", "session_id"), ("looprecord", "loop_id")}
COLUMNS = ("measured", "**ratio**", "10,000 events", "1,000,000 events")


def main() -> None:
    options = _options()
    with loopscope() as (few, small), loopscope() as (many, large):
        for target in (few, many):
            for at in range(0, SESSIONS, PRODUCERS):
                send(target, "HTTP", [[_session(at + n)] for n in range(PRODUCERS)])
        stored = _multiply(large, options.copies)
        many.pid = large.pid
        rates = [(_rate(few, n), _rate(many, n)) for n in range(options.rounds)]
        lists = _lists(Reader(small), Reader(large), options.requests)
        size = (large.folder / "loopscope.sqlite3").stat().st_size / 2**30
    slow, fast = (statistics.median(each) for each in zip(*rates, strict=True))
    ratio = statistics.median(more / less for less, more in rates)
    rows = [("ingest, events/s", f"**{ratio:.2f}**", f"{slow:,.0f}", f"{fast:,.0f}")]
    for name, (less, more) in lists.items():
        rows.append((f"sessions list, {name} ms", f"**{more / less:.2f}**", f"{less:.0f}", f"{more:.0f}"))
    note = f"{options.rounds} rounds of ingest, {options.requests} lists; {stored:,} events, {size:.1f} GiB."
    report("A million events, SQLite", note, COLUMNS, rows)


def _session(number: int) -> Batch:
    """Return a session of one loop that ended."""
    begun = tape(f"session-{number}", EVENTS - 1, EVENTS)[0]
    start = json.loads(begun.body.partition(b"\n")[0])
    end = {"type": "AgentEnd", "loop_id": start["loop_id"], "timestamp": start["timestamp"]}
    end |= {"messages": [], "usage": {"input": 900, "output": 90}}
    return Batch(begun.producer, 0, EVENTS, begun.body + json.dumps(end).encode() + b"\n")


def _multiply(server: Server, copies: int) -> int:
    """Copy all rows `copies` times; return the number of events afterwards."""
    server.stop()
    with closing(sqlite3.connect(server.folder / "loopscope.sqlite3", isolation_level=None)) as database:
        inserts = [_copy(database, f"recorder_{name}") for name in TABLES]
        for copy in range(1, copies + 1):
            database.execute("BEGIN IMMEDIATE")
            for insert in inserts:
                database.execute(insert, {"apart": copy * APART, "name": f"-{copy}"})
            database.execute("COMMIT")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        stored: int = database.execute("SELECT COUNT(*) FROM recorder_eventrecord").fetchone()[0]
    server.start()
    return stored


def _copy(database: sqlite3.Connection, table: str) -> str:
    """Return the SQL that copies the recorded rows of a table with other keys and names."""
    keys = {
        column
        for _, _, target, column, *_ in database.execute(f"PRAGMA foreign_key_list({table})")
        if target.removeprefix("recorder_") in TABLES
    }
    columns = [name for _, name, *_ in database.execute(f"PRAGMA table_info({table})")]
    values = []
    for name in columns:
        if name == "id" or name in keys or name.endswith("_event"):
            values.append(f"{name} + :apart")
        elif (table.removeprefix("recorder_"), name) in NAMES:
            values.append(f"{name} || :name")
        else:
            values.append(name)
    into = f"{table} ({', '.join(columns)})"
    return f"INSERT INTO {into} SELECT {', '.join(values)} FROM {table} WHERE id < {APART}"


def _rate(target: Target, number: int) -> float:
    return send(target, "HTTP", [tape(f"more-{number}-{n}", 1_000, 100) for n in range(PRODUCERS)])[0]


def _lists(small: Reader, large: Reader, requests: int) -> dict[str, tuple[float, float]]:
    """Return the median and the 95th percentile of the list in both stores, in milliseconds."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(requests + 1):
        for which, reader in enumerate((small, large)):
            started = time.perf_counter()
            reader.get("/p/default/sessions")
            if turn:  # the first one warms caches
                times[which].append((time.perf_counter() - started) * 1000)
    less, more = map(quantiles, times)
    return {"p50": (less[0], more[0]), "p95": (less[1], more[1])}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=40)
    parser.add_argument("--copies", type=int, default=99)
    return parser.parse_args()


if __name__ == "__main__":
    main()
