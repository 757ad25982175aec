"""Latency of an event from sending to its commit and to the sockets of the pages that show it.

python -m bench.live [--viewers 1,10,100] [--marks 100] [--rate 1000] [--database postgres://…]

An agent starts one tool call after the other in a loop whose page the viewers have open; each is timed to its
acknowledgement and to the frame that shows it, in every viewer. First alone, then while four producers send
`--rate` events a second to other sessions. Then the highest rate, with and without viewers, in turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bench.support.ingest_client import Line, frame, greet
from bench.support.machine import Target, loopscope, report
from bench.support.viewers import Reader, Viewers, watching
from bench.support.workload import Batch, tape
from bench.throughput import send
from tests.support.small_loop import Loop

COLUMNS = (
    "viewers",
    "events/s beside",
    "**in the page, p50 ms**",
    "**p95**",
    "committed, p50 ms",
    "p95",
    "not shown",
    "server MiB",
)
BESIDE, EACH_S, TURN_TOOLS = 4, 0.1, 5
LIST = "/p/default/sessions"


class Agent:
    """A loop that starts marked tool calls and returns when each was sent and when it was durable."""

    def __init__(self, target: Target, name: str) -> None:
        self._line, self._name, self._next = Line(target.port), name, 0
        self._loop = Loop(name)
        greet(self._line, target.token, name)
        self.send(self._loop.start(), self._loop.turn())

    def send(self, *events: dict[str, object]) -> tuple[float, float]:
        """Send events; return when they were sent and when they were durable."""
        body = b"\n".join(json.dumps(event).encode() for event in events) + b"\n"
        text = frame(Batch(self._name, self._next, len(events), body))
        self._next += len(events)
        sent = time.perf_counter()
        self._line.send(text)
        while self._line.receive().get("upto") != self._next - 1:
            pass
        return sent, time.perf_counter()

    def mark(self, number: int) -> tuple[float, float]:
        if number % TURN_TOOLS == 0:
            self.send(self._loop.turn_end("next"), self._loop.turn())
            time.sleep(EACH_S)  # an event at once after it would wait for the next redraw
        return self.send(self._loop.tool(f"call-{number}", command=f"mark-{number}-"))

    def close(self) -> None:
        self._line.close()


def main() -> None:
    options = _options()
    with loopscope(options.database) as (target, server):
        reader = Reader(server)
        rows = [
            latency(target, reader, viewers, rate, options.marks)
            for rate in (0, options.rate)
            for viewers in options.viewers
        ]
        kind = "PostgreSQL" if server.environment.get("DATABASE_URL") else "SQLite"
        report(f"Push latency, {kind}", f"{options.marks} marked events a row.", COLUMNS, rows)
        ratio, alone, watched = ingest_ratio(target, reader, options.rounds)
        title, columns = f"Ingest under 10 viewers, {kind}", ("**ratio**", "events/s", "without viewers")
        rates = (f"**{ratio:.2f}**", f"{watched:,.0f}", f"{alone:,.0f}")
        note = f"Medians of {options.rounds} rounds in turns, 4 producers, batches of 100, the list open."
        report(title, note, columns, [rates])


def latency(target: Target, reader: Reader, number: int, rate: int, marks: int) -> tuple[object, ...]:
    """Return the row of `number` viewers during `rate` other events a second."""
    agent = Agent(target, f"watched-{number}-{rate}")
    try:
        with watching(reader, _page(reader, f"watched-{number}-{rate}"), number) as viewers:
            with busy(target, rate, f"{number}-{rate}") as pace:
                times = []
                for mark in range(marks):
                    times.append(agent.mark(mark))
                    time.sleep(EACH_S)  # so that each mark has a redraw of its own
                achieved = pace.rate()
                _wait(viewers, marks)
            memory = target.rss_mib()
    finally:
        agent.close()
    shown = [seen[mark] - at for seen in viewers.seen for mark, (at, _) in enumerate(times) if mark in seen]
    committed = [(durable - at) * 1000 for at, durable in times]
    missing = number * marks - len(shown)
    pushed = [seconds * 1000 for seconds in shown] or [float("nan")]
    head = (number, f"{achieved:,.0f}", *(f"**{each:.0f}**" for each in quantiles(pushed)))
    return (*head, *(f"{each:.0f}" for each in quantiles(committed)), missing, memory)


def ingest_ratio(target: Target, reader: Reader, rounds: int) -> tuple[float, float, float]:
    """Return the ratio of the highest rates with ten viewers of the list and with none, and both rates."""
    rates: dict[int, list[float]] = {0: [], 10: []}
    for round_ in range(rounds):
        for number in (0, 10) if round_ % 2 == 0 else (10, 0):
            tapes = [tape(f"max-{round_}-{number}-{n}", 2_500, 100) for n in range(4)]
            with watching(reader, LIST, number):
                rates[number].append(send(target, "WebSocket", tapes)[0])
    alone, watched = statistics.median(rates[0]), statistics.median(rates[10])
    return watched / alone, alone, watched


class Pace:
    """The achieved rate; `took` has the milliseconds from each batch to its acknowledgement."""

    def __init__(self) -> None:
        self.took: list[float] = []
        self._count, self._began = 0, time.perf_counter()

    def note(self, batch: Batch, sent: float) -> None:
        self.took.append((time.perf_counter() - sent) * 1000)
        self._count += batch.count

    def rate(self) -> float:
        return self._count / (time.perf_counter() - self._began)


@contextmanager
def busy(target: Target, rate: int, name: str) -> Iterator[Pace]:
    """Send `rate` events a second to other sessions."""
    stop, started, pace = threading.Event(), time.perf_counter(), Pace()
    each = int(rate * EACH_S / BESIDE)

    def work(n: int) -> None:
        producer = f"beside-{name}-{n}"
        line = Line(target.port)
        greet(line, target.token, producer)
        for turn, batch in enumerate(tape(producer, 200 * each, each)):
            if stop.wait(max(0.0, started + turn * EACH_S - time.perf_counter())):
                break
            sent = time.perf_counter()
            line.send(frame(batch))
            while line.receive().get("upto", -1) < batch.first + batch.count - 1:
                pass
            pace.note(batch, sent)
        line.close()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(BESIDE if rate else 0)]
    for thread in threads:
        thread.start()
    yield pace
    stop.set()
    for thread in threads:
        thread.join()


def quantiles(values: list[float]) -> tuple[float, float]:
    ordered = sorted(values)
    return ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]


def _page(reader: Reader, session: str) -> str:
    loops = reader.server.read(f"/api/v1/loops?session_id={session}")["items"]
    return str(loops[0]["url"])


def _wait(viewers: Viewers, marks: int) -> None:
    """Wait at most 10 s until every viewer has received the last mark."""
    deadline = time.perf_counter() + 10
    while time.perf_counter() < deadline and not all(marks - 1 in seen for seen in viewers.seen):
        time.sleep(0.05)  # polled: the viewers run in threads of their own


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--viewers", type=lambda t: [int(n) for n in t.split(",")], default=[1, 10, 100])
    parser.add_argument("--marks", type=int, default=100)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--database", help="a PostgreSQL server; a new database is made in it")
    return parser.parse_args()


if __name__ == "__main__":
    main()
