"""Kills a server at random moments under producers with ledgers, then compares.

`python -m tests.faults.killer --kills 300` takes about ten minutes. Nothing that was acknowledged may be
lost, nothing may be there twice or out of order, and `check_integrity` must find nothing.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path

from tests.browser.server import Server
from tests.faults import stream
from tests.faults.databases import fresh
from tests.faults.producers import Producer, at_work, stop

PRODUCERS = 8
AT_WORK_S = 0.3  # the longest time between an answer of the server and its end
STARTING_S = 0.6
WHILE_STARTING = 0.1  # this part of the kills


@dataclass
class Outcome:
    """What the ledgers and the journal say of each other."""

    kills: int
    acks: int = 0
    acknowledged: int = 0
    stored: int = 0
    lost: int = 0
    duplicated: int = 0
    out_of_order: int = 0
    altered: int = 0
    integrity: str = ""
    faults: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        wrong = self.lost + self.duplicated + self.out_of_order + self.altered
        return not wrong and not self.faults and self.integrity.startswith("nothing found")


def run(server: Server, kills: int, seed: int) -> Outcome:
    """Kill `server` so many times and compare."""
    chance = random.Random(seed)
    server.start()
    producers = at_work(PRODUCERS, server.port, server.token, seed)
    for producer in producers:
        producer.start()
    for _ in range(kills):
        _kill(server, chance)
    stop(producers)
    return compare(server, producers, kills)


def compare(server: Server, producers: list[Producer], kills: int) -> Outcome:
    """Hold the journal against the ledgers."""
    outcome = Outcome(kills)
    for producer in producers:
        outcome.acks += producer.acks
        outcome.acknowledged += producer.acked + 1
        outcome.faults += producer.faults
        _compare(outcome, producer, list(_stored(server, producer)))
    outcome.integrity = server.manage("check_integrity")
    return outcome


def _kill(server: Server, chance: random.Random) -> None:
    """Let it work for a moment, end it, and start it again; sometimes end it while it starts, too."""
    time.sleep(chance.uniform(0, AT_WORK_S))
    server.kill()
    server.launch()
    while chance.random() < WHILE_STARTING:
        time.sleep(chance.uniform(0, STARTING_S))
        server.kill()
        server.launch()
    server.wait_until_it_answers()


def _compare(outcome: Outcome, producer: Producer, stored: list[tuple[int, dict]]) -> None:
    numbers = [number for number, _ in stored]
    there = set(numbers)
    outcome.stored += len(numbers)
    outcome.lost += sum(number not in there for number in range(producer.acked + 1))
    outcome.duplicated += len(numbers) - len(there)
    outcome.out_of_order += sum(after < before for before, after in pairwise(numbers))
    outcome.altered += sum(event != json.loads(stream.nth(producer.name, number)) for number, event in stored)
    if there and max(there) > producer.sent:
        outcome.faults.append(f"{producer.name}: {max(there)} is stored, only {producer.sent} was sent")


def _stored(server: Server, producer: Producer) -> Iterator[tuple[int, dict]]:
    """Yield number and content of what is stored of a producer, in recorded order."""
    for session in stream.sessions(producer.name, producer.sent + 1):
        url = f"{server.url}/api/v1/sessions/{session}/events?envelope=1"
        request = urllib.request.Request(url, headers=producer.bearer)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                envelopes = [json.loads(line) for line in answer]
        except urllib.error.HTTPError as error:
            with error:
                if error.code != 404:
                    raise
            return
        for envelope in envelopes:
            assert envelope["producer"] == producer.name, envelope
            yield envelope["seq"], envelope["event"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--database", help="a PostgreSQL server, postgres://…; a new database is made in it")
    asked = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="loopscope-killer-") as folder, fresh(asked.database) as settings:
        server = Server(Path(folder), **settings)
        try:
            outcome = run(server, asked.kills, asked.seed)
        finally:
            server.stop()
    seconds = round(time.monotonic() - started, 1)
    print(json.dumps({"seed": asked.seed, "seconds": seconds, **asdict(outcome)}, indent=1))
    return 0 if outcome.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
