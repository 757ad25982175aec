"""One stream under many random schedules: split, repeated, cut off, resumed. All give the same records.

`python -m tests.faults.schedules --schedules 200 --events 10000`; with `--database postgres://…` two servers
share one database and each connection goes to either. Each schedule prints its digest. A long run may be
split: `--first 50 --schedules 50 --seed S` are the schedules 50 to 99 of that seed.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.faults.support import producer_stream
from tests.faults.support.databases import fresh
from tests.faults.support.producers import HTTPProducer, Producer, SocketProducer
from tests.faults.support.proxy import Fault, proxy
from tests.support.server import ROOT, Server

NAME = "p0"
CLEAN = "undisturbed"
MOST_LINES, HOW_OFTEN = (20, 100, 500), (1, 3, 6)  # in one request or frame
MOST_CUTS = 20
LEFT_ALONE, CREEPING = 0.2, 0.05  # shares of the connections
CREEP_BYTES = 20_000  # the limit of a slow connection


@dataclass(frozen=True)
class Harm:
    """How often the connections of one schedule are cut."""

    chance: random.Random
    bytes_between: float  # two cuts, on average

    def fault(self) -> Fault:
        """Choose the fault of the next connection."""
        draw = self.chance.random()
        if draw < LEFT_ALONE:
            return Fault()
        ending: Literal["close", "reset"] = self.chance.choice(("close", "reset"))
        if draw < LEFT_ALONE + CREEPING:
            is_slow = self.chance.random() < 0.5
            cut_after = self.chance.randint(1, CREEP_BYTES)
            return Fault(0.002 if is_slow else 0, cut_after=cut_after, ending=ending, one_byte=not is_slow)
        return Fault(cut_after=1 + int(self.chance.expovariate(1 / self.bytes_between)), ending=ending)


def run(servers: list[Server], schedules: range, events: int, seed: int) -> Iterator[tuple[str, str]]:
    """Yield each schedule's name and the digest of its records; the first has no faults."""
    names = [CLEAN, *(f"schedule-{number}" for number in schedules)]
    for name, token in _projects(servers[0], "make", names).items():
        chance = random.Random(f"{seed} {name}")
        producer = _producer(chance, token, events)
        with ExitStack() as stack:
            ports = [server.port for server in servers[:1]]
            if name != CLEAN:
                harm = _harm(chance, producer)
                ports = [stack.enter_context(proxy(server.port, harm.fault)) for server in servers]
            _send(producer, ports)
        yield name, _projects(servers[0], "digest", [name])[name]


def _producer(chance: random.Random, token: str, events: int) -> Producer:
    transport = chance.choice((HTTPProducer, SocketProducer))
    producer = transport(NAME, 0, token, chance.randrange(2**32))
    producer.limit = events
    producer.most_lines = chance.choices(MOST_LINES, HOW_OFTEN)[0]
    return producer


def _harm(chance: random.Random, producer: Producer) -> Harm:
    """Return faults that cut a schedule at most MOST_CUTS times and let some whole batches through."""
    line_bytes = len(producer_stream.nth(NAME, 0))
    assert producer.limit is not None
    between = producer.limit * line_bytes / chance.randint(1, MOST_CUTS)
    return Harm(chance, max(between, producer.most_lines * line_bytes))


def _send(producer: Producer, ports: list[int]) -> None:
    """Send the stream over these ports, with a new connection after each break."""
    converse = producer.converse

    def anywhere() -> None:
        producer.port = producer.chance.choice(ports)
        converse()

    producer.converse = anywhere  # type: ignore[method-assign]  # the same, each time elsewhere
    producer.run()
    assert producer.faults == [], producer.faults
    assert producer.limit is not None
    assert producer.acked == producer.limit - 1


def _projects(server: Server, action: str, names: list[str]) -> dict[str, str]:
    """Make projects, or take their digests."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.support.projects", action, *names],
        cwd=ROOT,
        env=server.environment | {"DJANGO_SETTINGS_MODULE": "dashboard.settings"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedules", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the number of the first, to go on with a run")
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--database", help="a PostgreSQL server; two Loopscopes then share a new database")
    options = parser.parse_args()
    started = time.monotonic()
    with ExitStack() as stack:
        settings = stack.enter_context(fresh(options.database))
        servers = []
        for _ in range(2 if options.database else 1):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="loopscope-schedules-")))
            server = Server(folder, **settings)
            stack.callback(server.stop)
            server.start()
            servers.append(server)
        schedules = range(options.first, options.first + options.schedules)
        digests = set()
        for name, digest in run(servers, schedules, options.events, options.seed):
            print(json.dumps({"schedule": name, "digest": digest}), flush=True)
            digests.add(digest)
    seconds = round(time.monotonic() - started, 1)
    print(json.dumps({**vars(options), "seconds": seconds, "digests": len(digests)}))
    return 0 if len(digests) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
