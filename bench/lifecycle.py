"""Latency of the lifecycle channel with fifty subscribers, one of which never reads, and its cost for ingest.

python -m bench.lifecycle [--subscribers 50] [--marks 200] [--rounds 3] [--rate 1000] [--database postgres://…]

First a burst of loops fills the buffers of the subscriber that never reads. Then loops start one after the
other; each is timed from its commit to its receipt by every subscriber that reads. Then ingest at a steady
rate and at its highest, with and without the subscribers, in turns.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bench.live import Agent, busy, quantiles
from bench.support.machine import Target, loopscope, report
from bench.support.workload import tape
from bench.throughput import send
from tests.support import build

MARK = re.compile(r'"turn-started","session_id":"mark-(\d+)-')
LONG = "x" * 400  # so that a burst is larger than the socket buffers
BURST, BATCH = 5_000, 100
EACH_S = 0.05
COLUMNS = (
    "subscribers",
    "**received after its commit, p50 ms**",
    "**p95**",
    "max",
    "not received",
    "received of the burst",
    "server MiB",
)
STEADY_S = 8.0
STEADY = (
    "**CPU : alone**",
    "**committed, p50 : alone**",
    "**p95 : alone**",
    "CPU ms / 1,000",
    "alone",
    "p50 ms",
    "alone",
    "p95 ms",
    "alone",
    "events/s",
    "alone",
)
INGEST = ("**ratio**", "**of CPU**", "events/s", "alone", "CPU ms / 1,000", "alone")


class Subscribers:
    """Readers of the channel; `received[reader][mark]` is a time."""

    def __init__(self, target: Target, number: int) -> None:
        self.received: list[dict[int, float]] = [{} for _ in range(number)]
        self.frames = [0] * number
        self.ready = threading.Semaphore(0)
        self._target = target

    async def listen(self, stop: asyncio.Event) -> None:
        """Keep all of them connected until `stop` is set."""
        tasks = [asyncio.ensure_future(self._listen(n)) for n in range(len(self.received))]
        await stop.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _listen(self, number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._target.port)
        writer.write(request(self._target))
        async for line in reader:
            if line.startswith(b": listening"):
                self.ready.release()
            elif line.startswith(b"data: "):
                self.frames[number] += 1
                mark = MARK.search(line.decode())
                if mark:
                    self.received[number].setdefault(int(mark[1]), time.perf_counter())


def request(target: Target) -> bytes:
    head = f"GET /api/v1/lifecycle HTTP/1.1\r\nHost: 127.0.0.1:{target.port}\r\n"
    return f"{head}Authorization: Bearer {target.token}\r\n\r\n".encode()


@contextmanager
def listening(target: Target, number: int) -> Iterator[Subscribers]:
    """Keep `number` subscribers connected, one of which never reads."""
    subscribers = Subscribers(target, max(number - 1, 0))
    loop, stop = asyncio.new_event_loop(), asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(subscribers.listen(stop),))
    thread.start()
    stalled = socket.socket()
    try:
        if number:
            stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            stalled.connect(("127.0.0.1", target.port))
            stalled.sendall(request(target))
        for _ in subscribers.received:
            assert subscribers.ready.acquire(timeout=60), "the channel does not answer"
        yield subscribers
    finally:
        stalled.close()
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


def latency(target: Target, number: int, marks: int) -> tuple[object, ...]:
    """Return the row of `number` subscribers."""
    with listening(target, number) as subscribers:
        agent = Agent(target, "bursting")
        for first in range(0, BURST, BATCH):
            loops = (f"burst-{n}-{LONG}.a.1" for n in range(first, first + BATCH))
            agent.send(
                *(event for loop in loops for event in (build.agent_start(loop), build.agent_end(loop)))
            )
        frames = -1
        while frames != (frames := sum(subscribers.frames)):
            time.sleep(2)  # until no more frames of the burst arrive
        burst = min(subscribers.frames) / (2 * BURST)
        durable, moments = [], random.Random(1)
        for mark in range(marks):
            durable.append(agent.send(build.agent_start(f"mark-{mark}-{LONG}.a.1"))[1])
            time.sleep(moments.uniform(0, 2 * EACH_S))  # so that marks hit every phase of the throttle
        time.sleep(1)  # until the last marks are received
        memory = target.rss_mib()
        agent.close()
    late = [
        max(0.0, received[mark] - at) * 1000
        for received in subscribers.received
        for mark, at in enumerate(durable)
        if mark in received
    ]
    missing = len(subscribers.received) * marks - len(late)
    shown = (*(f"**{each:.0f}**" for each in quantiles(late)), f"{max(late):.0f}")
    return (number, *shown, missing, f"{burst:.0%}", memory)


def steady(target: Target, number: int, rate: int, rounds: int) -> tuple[object, ...]:
    """Return the row of a steady rate with `number` subscribers: CPU, and time until durable."""
    found: dict[int, list[tuple[float, ...]]] = {0: [], number: []}
    for round_, each in _turns(number, rounds):
        with listening(target, each), busy(target, rate, f"steady-{round_}-{each}") as pace:
            cpu = target.cpu_s()
            time.sleep(STEADY_S)  # the time that is measured
            cpu = target.cpu_s() - cpu
            achieved = pace.rate()
        found[each].append((cpu * 1e6 / STEADY_S / achieved, *quantiles(pace.took), achieved))
    pairs = list(zip(_medians(found[number]), _medians(found[0]), strict=True))
    ratios = (f"**{received / alone:.2f}**" for received, alone in pairs[:3])
    return (*ratios, *(f"{each:,.0f}" for pair in pairs for each in pair))


def ingest(target: Target, number: int, rounds: int) -> tuple[object, ...]:
    """Return the row of the highest rate, and its CPU, with `number` subscribers and with none."""
    found: dict[int, list[tuple[float, ...]]] = {0: [], number: []}
    for round_, each in _turns(number, rounds):
        tapes = [tape(f"max-{round_}-{each}-{n}", 2_500, 100) for n in range(4)]
        with listening(target, each):
            found[each].append(send(target, "WebSocket", tapes))
    (received, dear), (alone, cheap) = (_medians(found[each]) for each in (number, 0))
    ratios = f"**{received / alone:.2f}**", f"**{dear / cheap:.2f}**"
    return (*ratios, f"{received:,.0f}", f"{alone:,.0f}", f"{dear:.0f}", f"{cheap:.0f}")


def _turns(number: int, rounds: int) -> Iterator[tuple[int, int]]:
    """Yield each round with `number` subscribers and with none, in alternating order: caches warm up."""
    for round_ in range(rounds):
        for each in (0, number) if round_ % 2 == 0 else (number, 0):
            yield round_, each


def _medians(found: list[tuple[float, ...]]) -> list[float]:
    return [statistics.median(each) for each in zip(*found, strict=True)]


def main() -> None:
    options = _options()
    number = options.subscribers
    with loopscope(options.database) as (target, server):
        kind = "PostgreSQL" if server.environment.get("DATABASE_URL") else "SQLite"
        note = f"{options.marks} loops start, 20 a second, after a burst of {BURST:,}; one never reads."
        report(f"The lifecycle channel, {kind}", note, COLUMNS, [latency(target, number, options.marks)])
        row = steady(target, number, options.rate, options.rounds)
        note = f"Medians of {options.rounds} rounds of {STEADY_S:.0f} s in turns, {options.rate:,} events/s."
        report(
            f"{number} subscribers at a steady rate, {kind}", f"{note} CPU is the server's.", STEADY, [row]
        )
        note = f"Medians of {options.rounds} rounds in turns, 4 producers, batches of 100; server CPU."
        row = ingest(target, number, options.rounds)
        report(f"Ingest under {number} subscribers, {kind}", note, INGEST, [row])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--subscribers", type=int, default=50)
    parser.add_argument("--marks", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--database", help="a PostgreSQL server; a new database is made in it")
    return parser.parse_args()


if __name__ == "__main__":
    main()
