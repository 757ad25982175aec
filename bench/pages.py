"""Time of pages on the server, and of the floor's in the same run.

python -m bench.pages [--rounds 5] [--requests 8] [--sessions 10000] [--floor FOLDER] [--database postgres://…]

Both servers record sessions of 100, 1,000 and 10,000 calls (four events each), one of 1,000 loops and
`--sessions` small ones; Loopscope also an evaluation of six branches of 300 turns. Each round requests every
page of both, one after the other. The floor's session page is at most 1,000 rows of a plain list, its list 50
rows. `--floor`, by default LOOPSCOPE_FLOOR, names a folder with another floor, `floor_phi.py`, and another
workload, `phi.py`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain as flatten
from itertools import islice
from pathlib import Path

from bench.browser.session import chain
from bench.evaluation import record
from bench.live import quantiles
from bench.support.machine import Target, floor, loopscope, report
from bench.support.viewers import Reader
from bench.support.workload import one_loop
from tests.support import build
from tests.support.server import Server

CALLS, LOOPS, BRANCHES, TURNS = (100, 1_000, 10_000), 1_000, 6, 300
BATCH = 400  # events a request
TARGETS = {"100 calls": 40, "1,000 calls": 45, "10,000 calls": 60, "1,000 loops": 60}  # ms, p50
COLUMNS = (
    "page",
    "**p50 ms**",
    "target",
    "p95 ms",
    "**p50 : floor**",
    "floor ms",
    "**CPU ms**",
    "floor's",
    "kB",
)


@dataclass(slots=True)
class Measured:
    """The requests of one page to one server."""

    target: Target
    get: Callable[[], str]
    rounds: list[list[float]] = field(default_factory=list)  # ms
    cpu_ms: float = 0.0
    size: int = 0  # bytes

    def request(self, number: int) -> None:
        """Request the page in one round; a request before it warms caches."""
        self.size = len(self.get().encode())
        times, cpu = [], self.target.cpu_s()
        for _ in range(number):
            started = time.perf_counter()
            self.get()
            times.append((time.perf_counter() - started) * 1000)
        self.cpu_ms += (self.target.cpu_s() - cpu) * 1000 / number
        self.rounds.append(times)

    @property
    def p50(self) -> float:
        return statistics.median(statistics.median(times) for times in self.rounds)

    @property
    def p95(self) -> float:
        return quantiles([ms for times in self.rounds for ms in times])[1]


def main() -> None:
    options = _options()
    with loopscope(options.database) as (ours, server), floor(options.floor) as theirs:
        for n, (_, lines) in enumerate(sessions(options.floor, options.sessions)):
            recorded = list(lines)
            for target in (ours, theirs):
                post(target, f"pages-{n}", recorded)
        record(server, BRANCHES, TURNS)
        pages = _pages(ours, theirs, server)
        for _ in range(options.rounds):
            for measured in filter(None, flatten.from_iterable(pages.values())):
                measured.request(options.requests)
    rows = [_row(name, *both) for name, both in pages.items()]
    floors = "`floor_phi.py` of `--floor`, with its workload" if options.floor else "`bench/support/floor.py`"
    note = f"Medians of {options.rounds} interleaved rounds of {options.requests} requests; floor: {floors}."
    kind = "PostgreSQL" if server.environment.get("DATABASE_URL") else "SQLite"
    report(f"Pages, {kind}, {options.sessions:,} sessions", note, COLUMNS, rows)


def sessions(folder: Path | None, small: int) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Yield the ids of sessions, and their lines; the small ones together."""
    yield (
        "small",
        (line for n in range(small) for line in map(build.line, build.small_loop(f"small-{n}.a.1"))),
    )
    for calls in CALLS:
        yield f"calls-{calls}", _calls(folder, f"calls-{calls}", calls)
    yield "loops", chain("loops", LOOPS, "Default")


def post(target: Target, producer: str, lines: list[bytes]) -> None:
    """Send lines as one producer's, each batch after the acknowledgement of the one before."""
    address, rest, first = f"http://127.0.0.1:{target.port}/ingest/v1/events", iter(lines), 0
    while batch := list(islice(rest, BATCH)):
        headers = {
            "Authorization": f"Bearer {target.token}",
            "X-Producer": producer,
            "X-First-Seq": str(first),
        }
        headers["Content-Type"] = "application/x-ndjson"
        body = b"\n".join(batch) + b"\n"
        with urllib.request.urlopen(urllib.request.Request(address, body, headers)) as answer:
            assert not json.load(answer)["rejected"]
        first += len(batch)


def _calls(folder: Path | None, session: str, calls: int) -> Iterator[bytes]:
    if folder is None:
        return one_loop(session, -(-calls // 3))
    where = str(next(folder.rglob("phi.py")).parent)
    if where not in sys.path:
        sys.path.append(where)
    stream = importlib.import_module("phi").Stream(seed=calls)
    return (line for line, *_ in stream.phi.lines(stream.w.loop(calls, session)))


def _pages(ours: Target, theirs: Target, server: Server) -> dict[str, tuple[Measured, Measured | None]]:
    """Return every page with the floor's page of the same kind, if it has one."""
    reader = Reader(server)
    urls = {item["session_id"]: item["url"] for item in server.read("/api/v1/sessions?limit=50")["items"]}
    group = server.read("/api/v1/groups?limit=1")["items"][0]["id"]
    branches = ",".join(map(str, range(1, BRANCHES + 1)))
    pages = {
        f"session of {calls:,} calls": (urls[f"calls-{calls}"], f"/detail/calls-{calls}") for calls in CALLS
    }
    pages |= {
        f"session of {LOOPS:,} loops": (urls["loops"], "/detail/loops"),
        "list": ("/p/default/sessions", "/list"),
        "API: 50 sessions": ("/api/v1/sessions?limit=50", "/list"),
        f"evaluation, {BRANCHES} branches": (f"/p/default/evaluations/{group}?branches={branches}", ""),
    }

    def of(path: str, other: str) -> tuple[Measured, Measured | None]:
        own = Measured(ours, lambda: reader.get(path.removeprefix(server.url)))
        address = f"http://127.0.0.1:{theirs.port}{other}"
        return own, Measured(
            theirs, lambda: urllib.request.urlopen(address).read().decode()
        ) if other else None

    return {name: of(*paths) for name, paths in pages.items()}


def _get(address: str) -> str:
    with urllib.request.urlopen(address) as answer:
        return str(answer.read().decode())


def _row(name: str, ours: Measured, theirs: Measured | None) -> tuple[object, ...]:
    target = TARGETS.get(name.removeprefix("session of "), "")
    rounds = len(ours.rounds)
    shown = (name, f"**{ours.p50:.0f}**", target, f"{ours.p95:.0f}")
    cpu, size = f"**{ours.cpu_ms / rounds:.0f}**", f"{ours.size / 1000:.0f}"
    if theirs is None:
        return *shown, "", "", cpu, "", size
    beside = f"**{ours.p50 / theirs.p50:.2f}**", f"{theirs.p50:.0f}"
    return *shown, *beside, cpu, f"{theirs.cpu_ms / rounds:.0f}", size


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    other = os.environ.get("LOOPSCOPE_FLOOR")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=8)
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--floor", type=Path, default=Path(other) if other else None)
    parser.add_argument("--database", help="a PostgreSQL server; a new database is made in it")
    return parser.parse_args()


if __name__ == "__main__":
    main()
