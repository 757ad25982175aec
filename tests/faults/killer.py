"""Kills a server at random moments under load from producers with ledgers, then compares.

`python -m tests.faults.killer --kills 300` takes about ten minutes. No acknowledged line may be lost,
repeated or reordered, and `check_integrity` must find nothing.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from tests.faults.support.compare_ledgers import Outcome, compare
from tests.faults.support.databases import fresh
from tests.faults.support.producers import Producer, at_work, stop
from tests.support.server import Server

PRODUCERS = 8
ACKS = 60  # the most between its start and its end, or
AT_WORK_S = 3.0  # this long: on a busy machine it starts slowly
STARTING_S = 0.6
WHILE_STARTING = 0.1  # share of the kills


def run(server: Server, kills: int, seed: int) -> Outcome:
    """Kill `server` `kills` times and compare."""
    chance = random.Random(seed)
    server.start()
    producers = at_work(PRODUCERS, server.port, server.token, seed)
    for producer in producers:
        producer.start()
    for _ in range(kills):
        _kill(server, producers, chance)
    stop(producers)
    return compare(server, producers)


def _kill(server: Server, producers: list[Producer], chance: random.Random) -> None:
    """Kill it after a moment of work and restart it; sometimes kill it during the start, too."""
    enough = _acks(producers) + chance.randint(0, ACKS)
    deadline = time.monotonic() + AT_WORK_S
    while _acks(producers) < enough and time.monotonic() < deadline:
        time.sleep(0.002)  # polled: producers count for themselves
    time.sleep(chance.uniform(0, 0.02))  # any moment of a commit may be the last
    server.kill()
    server.launch()
    while chance.random() < WHILE_STARTING:
        time.sleep(chance.uniform(0, STARTING_S))  # any moment of a start may be the last
        server.kill()
        server.launch()
    server.wait_until_it_answers()


def _acks(producers: list[Producer]) -> int:
    return sum(producer.acks for producer in producers)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--database", help="a PostgreSQL server, postgres://…; a new database is made in it")
    params = parser.parse_args()
    started = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="loopscope-killer-") as folder,
        fresh(params.database) as settings,
    ):
        server = Server(Path(folder), **settings)
        try:
            outcome = run(server, params.kills, params.seed)
        finally:
            server.stop()
    seconds = round(time.monotonic() - started, 1)
    about = {"seed": params.seed, "kills": params.kills, "seconds": seconds}
    print(json.dumps({**about, **asdict(outcome)}, indent=1))
    return 0 if outcome.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
