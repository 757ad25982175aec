"""Floods a server over one WebSocket next to a page that reads nothing; measures the delay of other clients.

`python -m tests.faults.flood --mib 600`: memory may grow by 64 MiB, and the
99th percentile of the response times of other clients by 250 ms.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import socket
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from websockets.sync.client import connect

from tests.faults.support.databases import fresh
from tests.nodes.nodes import Reader
from tests.support.build import agent_start, line
from tests.support.server import Server

MIB = 1024 * 1024
GROWTH_MIB, SLOWER_MS = 64, 250
QUIET, EVERY_S, BEFORE_S = 4, 0.05, 10.0
LINES, LINE_BYTES = 64, 16 * 1024  # of one frame
DROPPED_S = 120.0  # a page that acknowledges nothing is closed after LOOPSCOPE_PAGE_SILENCE_S
UPGRADE = """GET {path} HTTP/1.1\r
Host: 127.0.0.1:{port}\r
Upgrade: websocket\r
Connection: Upgrade\r
Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r
Sec-WebSocket-Version: 13\r
Origin: {url}\r
Cookie: {cookie}\r
\r
"""


@dataclass(frozen=True)
class Felt:
    """Cost of a flood."""

    taken_mib: int
    seconds: float
    grown_mib: int
    p99_before_ms: float
    p99_while_ms: float
    answers: int
    is_page_dropped: bool

    @property
    def is_clean(self) -> bool:
        is_slower = self.p99_while_ms - self.p99_before_ms > SLOWER_MS
        return self.grown_mib <= GROWTH_MIB and not is_slower and self.is_page_dropped


class Quiet(threading.Thread):
    """A producer that sends an event at intervals, with the time of each response."""

    def __init__(self, server: Server) -> None:
        super().__init__(daemon=True)
        self._agent = server.agent()
        self.waits: list[float] = []
        self.is_over = False

    def run(self) -> None:
        while not self.is_over:
            began = time.perf_counter()
            self._agent.send({"type": "Note", "n": len(self.waits)})
            self.waits.append(time.perf_counter() - began)
            time.sleep(EVERY_S)  # the interval


class Memory(threading.Thread):
    """Samples the server's memory; keeps the maximum."""

    def __init__(self, server: Server) -> None:
        super().__init__(daemon=True)
        self._status = Path(f"/proc/{server.pid}/status")
        self.before = self.most = self._now()
        self.is_over = False

    def run(self) -> None:
        while not self.is_over:
            self.most = max(self.most, self._now())
            time.sleep(0.01)  # the sampling interval

    def _now(self) -> int:
        return int(self._status.read_text().partition("VmRSS:")[2].split()[0]) // 1024


def run(server: Server, mib: int, before_s: float = BEFORE_S) -> Felt:
    """Flood a running server."""
    reader, agent = Reader(server), server.agent()
    agent.send(agent_start("flood.a.1"))
    before = _waits(server, lambda: time.sleep(before_s))  # undisturbed work, to compare with
    memory = Memory(server)
    memory.start()
    began = time.monotonic()
    with deaf_page(server, reader):
        waits = _waits(server, lambda: _flood(server, mib))
        seconds = time.monotonic() - began
        is_dropped = _is_dropped(server)
    memory.is_over = True
    grown = memory.most - memory.before
    return Felt(mib, round(seconds, 1), grown, _p99(before), _p99(waits), len(waits), is_dropped)


@contextmanager
def deaf_page(server: Server, reader: Reader) -> Iterator[None]:
    """Open the events of the flooded loop, and read none of the frames."""
    loop = server.read("/api/v1/loops?session_id=flood")["items"][0]
    session, pk = loop["url"].split("/")[-3], loop["url"].split("/")[-1]
    path = f"/p/default/live/session?session={session}&loop={pk}&tab=events"
    with socket.socket() as page:
        page.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        page.connect(("127.0.0.1", server.port))
        handshake = UPGRADE.format(path=path, port=server.port, url=server.url, cookie=reader.cookie)
        page.sendall(handshake.encode())
        assert page.recv(12).endswith(b"101"), "the page's socket was refused"
        yield


def flooder(url: str, token: str, mib: int) -> None:
    """Send as fast as the server reads, in a process of its own; wait for the last acknowledgement."""
    event = {"type": "Note", "loop_id": "flood.a.1", "text": "y" * (LINE_BYTES - 100)}
    body = b"\n".join([line(event)] * LINES).decode()
    headers = {"Authorization": f"Bearer {token}"}
    with connect(
        f"ws{url.removeprefix('http')}/ingest/v1/ws", additional_headers=headers, max_queue=None
    ) as at:
        at.send(json.dumps({"op": "hello", "v": 1, "producer": "flood"}))
        for number in range(mib):
            at.send(f"{json.dumps({'op': 'events', 'first': number * LINES, 'n': LINES})}\n{body}")
        while json.loads(at.recv()).get("upto") != mib * LINES - 1:
            pass


def _flood(server: Server, mib: int) -> None:
    process = multiprocessing.get_context("spawn").Process(
        target=flooder, args=(server.url, server.token, mib)
    )
    process.start()
    process.join()
    assert process.exitcode == 0, "the flood was not stored"


def _waits(server: Server, during: Callable[[], None]) -> list[float]:
    quiet = [Quiet(server) for _ in range(QUIET)]
    for each in quiet:
        each.start()
    during()
    for each in quiet:
        each.is_over = True
    for each in quiet:
        each.join()
    return [wait for each in quiet for wait in each.waits]


def _p99(waits: list[float]) -> float:
    return round(sorted(waits)[int(len(waits) * 0.99)] * 1000, 1)


def _is_dropped(server: Server) -> bool:
    """Wait until no page is open any more."""
    metrics = urllib.request.Request(
        f"{server.url}/metrics", headers={"Authorization": f"Bearer {server.token}"}
    )
    deadline = time.monotonic() + DROPPED_S
    while time.monotonic() < deadline:
        with urllib.request.urlopen(metrics) as answer:
            if "\nloopscope_viewers 0\n" in answer.read().decode():
                return True
        time.sleep(0.1)  # polled: nothing reports it
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=600)
    parser.add_argument("--database", help="a PostgreSQL server, postgres://…; a new database is made in it")
    params = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="loopscope-flood-") as folder,
        fresh(params.database) as settings,
    ):
        server = Server(Path(folder), **settings)
        server.start()
        try:
            felt = run(server, params.mib)
        finally:
            server.stop()
    print(json.dumps(asdict(felt), indent=1))
    return 0 if felt.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
