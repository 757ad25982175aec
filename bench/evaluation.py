"""Time of the page of a large evaluation: 12 branches of 300 turns that differ and agree by turns.

python -m bench.evaluation [--branches 12] [--turns 300] [--requests 20] [--database postgres://…]
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator
from itertools import chain

from bench.live import quantiles
from bench.support.machine import loopscope, report
from bench.support.viewers import Reader
from tests.dashboard.pages.evaluations.branches import branch, end, judge, start
from tests.support.server import Server

COLUMNS = ("page", "**CPU ms**", "p50 ms", "p95 ms", "**p95 : session**", "KiB")
CHUNK = 400  # events a request


def main() -> None:
    options = _options()
    with loopscope(options.database) as (target, server):
        record(server, options.branches, options.turns)
        reader = Reader(server)
        group, loop = (server.read(f"/api/v1/{kind}?limit=1")["items"][0] for kind in ("groups", "loops"))
        page = f"/p/default/evaluations/{group['id']}"
        pages = {
            "session, its last 50 turns": str(loop["url"]),
            "evaluation, 3 branches side by side": page,
            "evaluation, 6 branches": f"{page}?branches=1,2,3,4,5,6",
            "evaluation, 6 branches, only differences": f"{page}?branches=1,2,3,4,5,6&only=diff",
            "list of evaluations": "/p/default/evaluations",
        }
        times: dict[str, list[float]] = {name: [] for name in pages}
        sizes: dict[str, float] = {}
        cpu_ms = dict.fromkeys(pages, 0.0)
        for turn in range(options.requests + 1):
            for name, path in pages.items():
                started, cpu = time.perf_counter(), target.cpu_s()
                sizes[name] = len(reader.get(path)) / 1024
                if turn:  # the first one warms caches
                    times[name].append((time.perf_counter() - started) * 1000)
                    cpu_ms[name] += (target.cpu_s() - cpu) * 1000 / options.requests
        found = {name: quantiles(each) for name, each in times.items()}
        beside = next(iter(found.values()))[1]
        rows = [
            (
                name,
                f"**{cpu_ms[name]:.0f}**",
                f"{p50:.0f}",
                f"{p95:.0f}",
                f"**{p95 / beside:.2f}**",
                f"{sizes[name]:.0f}",
            )
            for name, (p50, p95) in found.items()
        ]
        note = f"{options.branches} branches of {options.turns} turns, {options.requests} requests a page."
        kind = "PostgreSQL" if server.environment.get("DATABASE_URL") else "SQLite"
        report(f"Evaluation, {kind}", note, COLUMNS, rows)


def record(server: Server, branches: int, turns: int) -> None:
    """Record one evaluation."""
    agent, chance = server.agent(), random.Random(12)
    numbers = range(1, branches + 1)
    each = (branch(number, *_turns(chance, turns)) for number in numbers)
    events = [start(*numbers), *chain.from_iterable(each), *judge("3"), end(3)]
    for at in range(0, len(events), CHUNK):
        agent.send(*events[at : at + CHUNK])


def _turns(chance: random.Random, turns: int) -> Iterator[str]:
    """Yield the tool calls of one branch; 70 % are the same in all branches."""
    for number in range(turns - 1):
        tool = chance.choice(("read", "bash", "edit"))
        yield f"read file-{number}" if chance.random() < 0.7 else f"{tool} other-{chance.randrange(99)}"
    yield "This is what was found. " * 100


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--branches", type=int, default=12)
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--requests", type=int, default=20)
    parser.add_argument("--database", help="a PostgreSQL server; a new database is made in it")
    return parser.parse_args()


if __name__ == "__main__":
    main()
