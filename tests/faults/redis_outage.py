"""Kills Redis under two nodes with producers and open pages, and brings it back.

`python -m tests.faults.redis_outage --seconds 60`. Nothing acknowledged may be lost, and within 5 s of its
return every page open at either node equals a fresh one. The run starts its own PostgreSQL and Redis.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from html import unescape
from pathlib import Path
from uuid import uuid4

from websockets.exceptions import ConnectionClosed

from tests.dashboard.page_model import ShownPage, parse, parts, remove_new_panels
from tests.faults.support.compare_ledgers import Outcome, compare
from tests.faults.support.producers import at_work, stop
from tests.faults.support.services import Postgres, Redis, Service
from tests.nodes.nodes import Nodes, Reader
from tests.support.server import Server

PRODUCERS = 8
BEFORE_S = 2.0
RETURN_S = 5.0
COMES_BACK_S = 0.25
LONGEST_S = 60.0  # limit of the measurement
LIST = "/p/default/sessions"
LIVE = re.compile(r'ws-connect="([^"]+)"')


@dataclass
class Course:
    """Results of an outage of Redis, and how long each open page took to be current again."""

    acks_before: int
    acks_while: int
    pages: int
    true_again_s: list[float]
    outcome: Outcome

    @property
    def is_clean(self) -> bool:
        is_true = len(self.true_again_s) == self.pages and max(self.true_again_s) <= RETURN_S
        return self.outcome.is_clean and is_true and self.acks_while > 0


class OpenPage(threading.Thread):
    """A page that is opened once, applies its frames and reconnects after a disconnect."""

    def __init__(self, reader: Reader, node: Server, path: str) -> None:
        super().__init__(daemon=True)
        self._fresh = lambda: reader.read(path, node)
        self._is_list = path == LIST
        html = self._fresh()
        self._shown = ShownPage(html)
        self._lock = threading.Lock()
        self._socket = reader.look(unescape(LIVE.search(html)[1]), node)
        self._is_left = False

    def run(self) -> None:
        while not self._is_left:
            with suppress(ConnectionClosed, OSError), self._socket:
                self._follow()
            time.sleep(COMES_BACK_S)  # a page waits before it connects again

    def leave(self) -> None:
        """Close the page."""
        self._is_left = True
        self._socket.__exit__()

    def _follow(self) -> None:
        while True:
            frame = self._socket.receive(wait=None)
            with self._lock:
                answer = self._shown.show(frame)
            self._socket.send_frame(answer)

    def is_true(self) -> bool:
        """Whether it equals a reload."""
        fresh = parts(parse(self._fresh()), is_list=self._is_list)
        with self._lock:
            mine = parts(self._shown.root, is_list=self._is_list)
        if self._is_list:
            remove_new_panels(mine, fresh)
        return mine == fresh


def run(folder: Path, seconds: float, seed: int) -> Course:
    """Stop the Redis of two nodes for `seconds`."""
    key = f"of this run: {uuid4()}"
    with Postgres() as base, Redis() as redis:
        settings = {"DATABASE_URL": base.url, "REDIS_URL": redis.url, "LOOPSCOPE_SECRET_KEY": key}
        with Nodes(folder, **settings) as nodes:
            return _run(nodes.all, redis, seconds, seed)


def _run(nodes: list[Server], redis: Service, seconds: float, seed: int) -> Course:
    """Stop Redis for a time; it restarts after the producers have finished."""
    producers = at_work(PRODUCERS, nodes[0].port, nodes[0].token, seed)
    for place, producer in enumerate(producers):
        producer.port = nodes[place // 2 % 2].port  # so that each node serves HTTP and WebSocket
        producer.start()
    time.sleep(BEFORE_S)  # of undisturbed work
    with ExitStack() as stack:
        pages = _pages(nodes)
        for page in pages:
            page.start()
            stack.callback(page.leave)
        time.sleep(BEFORE_S)  # with open pages
        acks_before = sum(producer.acks for producer in producers)
        redis.kill()
        time.sleep(seconds)  # the length of the outage
        stop(producers)
        acks_while = sum(producer.acks for producer in producers) - acks_before
        redis.start()
        true_again = _until_true(pages)
    outcome = compare(nodes[0], producers)
    return Course(acks_before, acks_while, len(pages), true_again, outcome)


def _pages(nodes: list[Server]) -> list[OpenPage]:
    """Return the same pages at both nodes: the list of sessions, and two loops within their sessions.

    Not the page of a session: a reload shows its latest loop, an open page the one that it was opened at.
    """
    reader = Reader(nodes[0])
    loops = nodes[0].read("/api/v1/loops?limit=50")["items"]
    paths = (LIST, loops[0]["url"], loops[-1]["url"])
    return [OpenPage(reader, node, path) for path in paths for node in nodes]


def _until_true(pages: list[OpenPage]) -> list[float]:
    """Return the seconds until each page equalled a reload."""
    began, true_again = time.monotonic(), {}
    while len(true_again) < len(pages) and time.monotonic() - began < LONGEST_S:
        for place, page in enumerate(pages):
            if place not in true_again and page.is_true():
                true_again[place] = round(time.monotonic() - began, 2)
        time.sleep(0.1)  # polled: a page reports nothing
    return sorted(true_again.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="loopscope-redisaway-") as folder:
        course = run(Path(folder), options.seconds, options.seed)
    print(json.dumps({**vars(options), **asdict(course)}, indent=1))
    return 0 if course.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
