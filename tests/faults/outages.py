"""Stops a service of a server under load from producers with ledgers, restores it, and compares.

`python -m tests.faults.outages lock --seconds 30`; the outages are `lock`, `disk` and `postgres`. Nothing
acknowledged may be lost, and every producer must be served again without a restart.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.faults.support.compare_ledgers import Outcome, compare
from tests.faults.support.producers import Producer, at_work, stop
from tests.faults.support.services import Postgres, Service
from tests.support.server import Server
from tests.support.wait import LONGEST_S, until

PRODUCERS = 8
BEFORE_S = 0.5
MIB = 1024 * 1024
FULL_AGAIN_S = 5.0  # checkpoints of its log free space, so some more events are stored
DISK_BYTES = 256 * MIB
LEFT_BYTES = MIB // 4

# Gives for how long, in seconds, a server may seem well meanwhile before it feels it again.
Outage = Callable[[], AbstractContextManager[float]]


@dataclass
class Course:
    """Results during and after an outage."""

    acks_before: int
    acks_while: int  # since its first effect
    ready_while: int
    page_while: int
    refused_after: int  # the most refusals of a producer before it was served again
    outcome: Outcome

    @property
    def is_clean(self) -> bool:
        is_felt = self.acks_before > 0 and self.ready_while == 503
        return self.outcome.is_clean and is_felt


def run(server: Server, outage: Outage, seconds: float, seed: int) -> Course:
    """Let producers send during an outage of a given length."""
    producers = at_work(PRODUCERS, server.port, server.token, seed)
    for producer in producers:
        producer.start()
    until(lambda: _acks(producers) > 0, "nothing is acknowledged before the outage")
    time.sleep(BEFORE_S)  # of undisturbed work
    acks_before = _acks(producers)
    with outage() as well_s:
        _until_felt(server)
        acks_felt = _acks(producers)
        time.sleep(seconds)  # the length of the outage
        ready_while, page_while = _ready_while(server, well_s), status(server, "/api/v1/sessions")
        acks_while = _acks(producers) - acks_felt
    refused_after = until_served(producers)
    until(lambda: status(server, "/readyz") == 200, "it is not ready again")
    stop(producers)
    outcome = compare(server, producers)
    return Course(acks_before, acks_while, ready_while, page_while, refused_after, outcome)


@contextmanager
def lock(server: Server) -> Iterator[float]:
    """Hold SQLite's one write lock."""
    path = server.folder / "loopscope.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None, timeout=LONGEST_S)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        yield 0.0
        holder.execute("ROLLBACK")


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Create a file system in a file, and mount it."""
    image, place = folder / "disk", folder / "mounted"
    place.mkdir()
    with image.open("wb") as file:
        file.truncate(DISK_BYTES)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", image], check=True)
    with mounted(image, place):
        yield place


@contextmanager
def mounted(image: Path, place: Path) -> Iterator[None]:
    """Mount the file system of a file."""
    subprocess.run(["mount", "-o", "loop", image, place], check=True)
    try:
        yield
    finally:
        _let_go(place)


def _let_go(place: Path) -> None:
    """Unmount it; a killed process may hold a file for a moment longer on a busy machine."""
    unmount = ["umount", place]
    until(lambda: not subprocess.run(unmount, check=False).returncode, f"{place} is still held", poll_s=0.1)


@contextmanager
def full(server: Server) -> Iterator[float]:
    """Fill the server's file system except for a little, and let its producers fill that."""
    filler = server.folder / "filler"
    with filler.open("wb") as file:
        room = os.statvfs(server.folder)
        os.posix_fallocate(file.fileno(), 0, room.f_bavail * room.f_frsize - LEFT_BYTES)
    _until_felt(server, "disk_full")
    yield FULL_AGAIN_S
    filler.unlink()


@contextmanager
def killed(service: Service) -> Iterator[float]:
    """Kill a service and start it again."""
    service.kill()
    yield 0.0
    service.start()


def status(server: Server, path: str) -> int:
    """Return the HTTP status of a GET."""
    request = urllib.request.Request(server.url + path, headers={"Authorization": f"Bearer {server.token}"})
    try:
        with urllib.request.urlopen(request, timeout=LONGEST_S) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code


def _readiness(server: Server) -> str:
    """Return the status that `/readyz` reports."""
    headers = {"Authorization": f"Bearer {server.token}"}  # for a check of its own, not the server's last one
    request = urllib.request.Request(f"{server.url}/readyz", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=LONGEST_S) as answer:
            return str(json.load(answer)["status"])
    except urllib.error.HTTPError as refused:
        with refused:
            return str(json.load(refused)["status"])


def _ready_while(server: Server, well_s: float) -> int:
    """Return the status of `/readyz` once it is not 200, or after `well_s` seconds."""
    deadline = time.monotonic() + well_s
    while (reported := status(server, "/readyz")) == 200 and time.monotonic() < deadline:
        time.sleep(0.05)  # polled: the server commits again by itself
    return reported


def _acks(producers: list[Producer]) -> int:
    return sum(producer.acks for producer in producers)


def _until_felt(server: Server, why: str = "") -> None:
    """Wait until the server reports that it cannot commit, and the reason `why`."""

    def is_felt() -> bool:
        reported = _readiness(server)
        return reported != "ok" and why in {"", reported}

    until(is_felt, "the outage has no effect")


def until_served(producers: list[Producer]) -> int:
    """Wait until each producer has an acknowledgement again; return how often one was refused before it."""
    before = {producer: (producer.acks, producer.refusals) for producer in producers}
    waiting, most = set(producers), 0

    def are_served() -> bool:
        nonlocal most
        for producer in list(waiting):
            acks, refusals = before[producer]
            most = max(most, producer.refusals - refusals)
            if producer.acks > acks:
                waiting.remove(producer)
        return not waiting

    until(are_served, lambda: f"not served again: {[each.state() for each in waiting]}")
    return most


@contextmanager
def prepared(name: str, folder: Path) -> Iterator[tuple[Server, Outage]]:
    """Yield a running server and the context manager of its outage."""
    with ExitStack() as stack:
        if name == "disk":
            folder = stack.enter_context(small_disk(folder))
        service = stack.enter_context(Postgres()) if name == "postgres" else None
        server = Server(folder, **({"DATABASE_URL": service.url} if service else {}))
        stack.callback(server.stop)
        server.start()
        assert server.token  # created before the outage
        if service:
            yield server, lambda: killed(service)
        else:
            yield server, lambda: full(server) if name == "disk" else lock(server)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("outage", choices=("lock", "disk", "postgres"))
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    options = parser.parse_args()
    folder = tempfile.TemporaryDirectory(prefix="loopscope-outages-")
    with folder as path, prepared(options.outage, Path(path)) as (server, outage):
        course = run(server, outage, options.seconds, options.seed)
    print(json.dumps({**vars(options), **asdict(course)}, indent=1))
    return 0 if course.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
