"""This checkout compared with another one, side by side in one run: ingest, pages and push latency.

python -m bench.versions --before FOLDER [--rounds 5] [--database postgres://...]

FOLDER is a checkout of another commit (`git worktree add FOLDER COMMIT`). Both servers run at once and get
the same work in turns, so that a noisy machine disturbs both. A ratio is this checkout's figure divided by
the other's.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path

from bench.live import Agent
from bench.spans.workload import bodies
from bench.support.ingest_client import TRANSPORTS
from bench.support.machine import Target, loopscope, report
from bench.support.viewers import Reader, watching
from bench.support.workload import one_loop, tape
from bench.throughput import send
from tests.support.server import Server

COLUMNS = ("figure", "**ratio**", "this", "before", "lowest to highest ratio of a round")
PRODUCERS, BATCH, EVENTS, MARKS = 4, 100, 10_000, 20
TURNS = (333, 3_333)
BETWEEN_MARKS_S = 0.1  # a mark that follows at once waits for the next redraw

Side = tuple[Target, Server, Reader]
Measure = Callable[[Side, str], float]


def main() -> None:
    params = _params()
    with (
        loopscope(params.database) as this,
        loopscope(params.database, params.before.resolve()) as before,
    ):
        sides: list[Side] = [(*this, Reader(this[1])), (*before, Reader(before[1]))]
        for side in sides:
            _record(side)
        rows = [_row(name, measure, sides, params.rounds) for name, measure in _measures().items()]
    report("Two versions", f"Medians of {params.rounds} rounds in turns.", COLUMNS, rows)


def _measures() -> dict[str, Measure]:
    """Return what is measured by its name; ingest in events a second, all else in milliseconds."""
    ingest: dict[str, Measure] = {}
    for name in TRANSPORTS:
        ingest[f"ingest by {name}, events/s"] = partial(_ingest, name, 0)
        ingest[f"CPU of ingest by {name}, ms per 1,000 events"] = partial(_ingest, name, 1)
    return ingest | {
        "session page of 333 turns, ms": lambda side, _: _page(side, _session(side, TURNS[0])),
        "session page of 3,333 turns, ms": lambda side, _: _page(side, _session(side, TURNS[1])),
        "sessions list, ms": lambda side, _: _page(side, "/p/default/sessions"),
        "push to an open page, ms": _push,
    }


def _record(side: Side) -> None:
    """Record a short and a long session, and let the server warm up."""
    target, server, _ = side
    for turns in TURNS:
        agent = server.agent(f"long-{turns}")
        lines = one_loop(f"long-{turns}", turns)
        while batch := list(islice(lines, 200)):
            agent.send(*batch)
    send(target, "HTTP", [tape(f"warm-{n}", 2_500, BATCH) for n in range(PRODUCERS)])


def _row(name: str, measure: Measure, sides: list[Side], rounds: int) -> tuple[object, ...]:
    figures: list[list[float]] = [[], []]
    for round_ in range(rounds):
        for which in (0, 1) if round_ % 2 == 0 else (1, 0):
            figures[which].append(measure(sides[which], f"{name[:12]}-{round_}".replace(" ", "-")))
    this, before = map(statistics.median, figures)
    ratios = [a / b for a, b in zip(*figures, strict=True)]
    print(f"{name}: {this:,.1f} of {before:,.1f}", file=sys.stderr)
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    return name, f"**{this / before:.2f}**", f"{this:,.1f}", f"{before:,.1f}", spread


def _ingest(name: str, figure: int, side: Side, run: str) -> float:
    made = partial(bodies, "runs") if name == "OTLP" else tape  # an event there is a span
    tapes = [made(f"{run}-{name}-{n}", EVENTS // PRODUCERS, BATCH) for n in range(PRODUCERS)]
    return send(side[0], name, tapes)[figure]


def _session(side: Side, turns: int) -> str:
    items = side[1].read(f"/api/v1/loops?session_id=long-{turns}")["items"]
    return str(items[0]["url"])


def _page(side: Side, path: str) -> float:
    """Return the median milliseconds of ten requests."""
    times = []
    for _ in range(10):
        started = time.perf_counter()
        side[2].get(path)
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)


def _push(side: Side, run: str) -> float:
    """Return the median milliseconds from sending an event to the frame that shows it."""
    target, server, reader = side
    agent = Agent(target, f"watched-{run}")
    try:
        loops = server.read(f"/api/v1/loops?session_id=watched-{run}")["items"]
        with watching(reader, str(loops[0]["url"]), 1) as viewers:
            sent = []
            for mark in range(MARKS):
                sent.append(agent.mark(mark)[0])
                time.sleep(BETWEEN_MARKS_S)  # so that each mark has a redraw of its own
            time.sleep(1)  # for the last frame
    finally:
        agent.close()
    (seen,) = viewers.seen
    return statistics.median((seen[mark] - at) * 1000 for mark, at in enumerate(sent) if mark in seen)


def _params() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--database", help="a PostgreSQL server; a new database is made in it for each version"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
