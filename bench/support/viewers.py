"""Readers with pages open, as a server sees them: signed in, a page fetched, its socket read and answered."""

from __future__ import annotations

import asyncio
import html
import json
import re
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar

from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Origin

from tests.support.server import Server

FRAME = re.compile(r"<!--frame (\d+)-->")
MARK = re.compile(r"mark-(\d+)-")
SOCKET = re.compile(r'ws-connect="([^"]+)"')
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


class Reader:
    """Somebody signed in."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._cookies = CookieJar()
        self._open = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self._cookies)).open
        path = re.search(r"/signin/\S+", server.manage("signin_link"))
        assert path is not None
        token = TOKEN.search(self.get(path[0]))
        assert token is not None
        form = urllib.parse.urlencode({"csrfmiddlewaretoken": token[1]}).encode()
        headers = {"Referer": server.url + path[0], "Origin": server.url}
        self._open(urllib.request.Request(server.url + path[0], form, headers)).close()

    def get(self, path: str) -> str:
        with self._open(self.server.url + path) as answer:
            return str(answer.read().decode())

    def socket(self, path: str) -> tuple[str, dict[str, str]]:
        """Return the address of a page's socket and what a browser sends along."""
        found = SOCKET.search(self.get(path))
        assert found is not None, path
        cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in self._cookies)
        address = f"ws{self.server.url.removeprefix('http')}{html.unescape(found[1])}"
        return address, {"Cookie": cookies, "Origin": self.server.url}


class Viewers:
    """Open pages that note when each mark came in: `seen[viewer][mark]` is a time."""

    def __init__(self, number: int) -> None:
        self.seen: list[dict[int, float]] = [{} for _ in range(number)]
        self.frames = self.bytes = self.lost = 0
        self.ready = threading.Semaphore(0)

    async def watch(self, address: str, headers: dict[str, str], stop: asyncio.Event) -> None:
        """Keep the pages open until `stop` is set."""
        tasks = [asyncio.ensure_future(self._watch(seen, address, headers)) for seen in self.seen]
        await stop.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch(self, seen: dict[int, float], address: str, headers: dict[str, str]) -> None:
        origin = headers["Origin"]
        more = {"Cookie": headers["Cookie"]}
        async with connect(
            address,
            origin=Origin(origin),
            additional_headers=more,
            max_size=None,
            open_timeout=60,
            close_timeout=1,
            ping_interval=None,
            proxy=None,
        ) as socket:
            is_first = True
            async for text in socket:
                await self._take(seen, socket, str(text))
                if is_first:
                    is_first = False
                    self.ready.release()
        self.lost += 1

    async def _take(self, seen: dict[int, float], socket: ClientConnection, text: str) -> None:
        now = time.perf_counter()
        for mark in MARK.finditer(text):
            seen.setdefault(int(mark[1]), now)
        self.frames += 1
        self.bytes += len(text)
        number = FRAME.match(text)
        if number:
            await socket.send(json.dumps({"ack": int(number[1])}))


@contextmanager
def watching(reader: Reader, path: str, number: int) -> Iterator[Viewers]:
    """Keep so many pages open, on a thread of their own."""
    viewers = Viewers(number)
    if not number:
        yield viewers
        return
    loop, stop = asyncio.new_event_loop(), asyncio.Event()
    watch = viewers.watch(*reader.socket(path), stop)
    thread = threading.Thread(target=_run, args=(loop, watch))
    thread.start()
    try:
        for _ in range(number):
            assert viewers.ready.acquire(timeout=60), "a page does not come alive"
        yield viewers
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


def _run(loop: asyncio.AbstractEventLoop, watch: Coroutine[None, None, None]) -> None:
    asyncio.set_event_loop(loop)
    loop.run_until_complete(watch)
