"""One stream under many random schedules: split, repeated, cut off, resumed. All leave the same records.

`python -m tests.faults.schedules --schedules 200 --events 10000`; with `--database postgres://…` two servers
share one database and each connection goes to either.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from tests.browser.server import ROOT, Server
from tests.faults.databases import fresh
from tests.faults.producers import Poster, Producer, Talker
from tests.faults.proxy import Fault, proxy

NAME = "p0"
WHOLE = 0.3  # this part of the connections is not cut


def run(servers: list[Server], schedules: int, events: int, seed: int) -> dict[str, str]:
    """Return the digest that each schedule left, by the name of its project; the first was undisturbed."""
    chance = random.Random(seed)
    names = [f"schedule-{number}" for number in range(schedules + 1)]
    for name, token in _projects(servers[0], "make", names).items():
        is_first = name == names[0]
        with ExitStack() as stack:
            ports = [
                server.port if is_first else stack.enter_context(proxy(server.port, lambda: _fault(chance)))
                for server in servers
            ]
            _send(chance, ports, token, events)
    return _projects(servers[0], "digest", names)


def _send(chance: random.Random, ports: list[int], token: str, events: int) -> None:
    """Send the stream, over any door and port, a new connection whenever one breaks."""
    door = chance.choice((Poster, Talker))

    class Anywhere(door):  # type: ignore[misc, valid-type]  # either door
        def converse(self) -> None:
            self.port = chance.choice(ports)
            super().converse()

    producer: Producer = Anywhere(NAME, ports[0], token, chance.randrange(2**32))
    producer.limit, producer.most_lines = events, chance.choice((1, 7, 50, 400, 500))
    producer.run()
    assert producer.faults == [], producer.faults
    assert producer.acked == events - 1


def _fault(chance: random.Random) -> Fault:
    if chance.random() < WHOLE:
        return Fault(delay_s=chance.choice((0, 0, 0.002)))
    return Fault(
        cut_after=int(10 ** chance.uniform(2.5, 6)),
        ending=chance.choice(("close", "reset")),
        one_byte=chance.random() < 0.02,
        swallow_answers=False,
    )


def _projects(server: Server, action: str, names: list[str]) -> dict[str, str]:
    """Make projects, or take their digests."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.projects", action, *names],
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
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--database", help="a PostgreSQL server; two Loopscopes then share a new database")
    asked = parser.parse_args()
    started = time.monotonic()
    with ExitStack() as stack:
        settings = stack.enter_context(fresh(asked.database))
        servers = []
        for _ in range(2 if asked.database else 1):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="loopscope-schedules-")))
            server = Server(folder, **settings)
            stack.callback(server.stop)
            server.start()
            servers.append(server)
        digests = run(servers, asked.schedules, asked.events, asked.seed)
    found = {"schedules": asked.schedules, "events": asked.events, "digests": len(set(digests.values()))}
    print(json.dumps({"seed": asked.seed, "seconds": round(time.monotonic() - started, 1), **found}))
    return 0 if len(set(digests.values())) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
