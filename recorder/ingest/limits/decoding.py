"""Bodies being decoded, over all connections of a process: a limit on their bytes, and turns by token.

A body counts from when it was received until its lines are handed to the writer: as sent, what gzip made of
it, the objects of a parsed JSON text and the lines. Beyond `LIMIT_BYTES`, or `SHARE_BYTES` of one token, the
body that would take more is refused with 503 and Retry-After; one that is alone fits always.

Bodies of a token are decoded one after the other, so one that sends many takes one of the two threads, and
others wait for one body of it at most.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TypeVar

from recorder.database.errors import Busy

LIMIT_BYTES = 160 * 1024 * 1024
SHARE_BYTES = LIMIT_BYTES // 2

# Threads of their own, so that long bodies delay neither the check of tokens nor the writer.
BODIES = ThreadPoolExecutor(max_workers=2, thread_name_prefix="body")

T = TypeVar("T")
Hold = Callable[[int], None]  # counts bytes that are about to be held; raises Busy


def uncounted(_size: int) -> None:
    """Hold bytes without counting them."""


class Decoding:
    """The bytes of bodies being decoded, counted by any thread; turns are of the event loop."""

    def __init__(self, limit: int = LIMIT_BYTES, share: int = SHARE_BYTES) -> None:
        self._limit, self._share = limit, share
        self._lock = threading.Lock()
        self._of_token: Counter[int] = Counter()
        self._turns: dict[int, asyncio.Lock] = {}
        self._users: Counter[int] = Counter()
        self.used = 0

    async def run(self, token: int, body: bytes, read: Callable[[Hold], T]) -> T:
        """Call `read` in a thread when it is the token's turn, with what counts its bytes. Raises Busy."""
        held = _Held(self, token)
        try:
            held.take(len(body))
            async with self._turn(token):
                return await asyncio.get_running_loop().run_in_executor(BODIES, read, held.take)
        finally:
            held.close()

    def change(self, token: int, size: int, own: int) -> None:
        """Count bytes of a token whose body holds `own` so far. Raises Busy; nothing is counted then."""
        with self._lock:
            of_token = self._of_token[token]
            if size > 0 and (
                (self.used + size > self._limit and self.used > own)
                or (of_token + size > self._share and of_token > own)
            ):
                raise Busy("busy")
            self.used += size
            self._of_token[token] += size
            if not self._of_token[token]:
                del self._of_token[token]

    @asynccontextmanager
    async def _turn(self, token: int) -> AsyncIterator[None]:
        turn = self._turns.setdefault(token, asyncio.Lock())
        self._users[token] += 1
        try:
            async with turn:
                yield
        finally:
            self._users[token] -= 1
            if not self._users[token]:
                del self._users[token], self._turns[token]


class _Held:
    """The bytes of one body. After `close` it takes no more: the request is gone, its thread ends early."""

    def __init__(self, decoding: Decoding, token: int) -> None:
        self._decoding, self._token = decoding, token
        self._size = 0
        self._is_closed = False
        self._lock = threading.Lock()

    def take(self, size: int) -> None:
        with self._lock:
            if self._is_closed:
                raise Busy("busy")
            self._decoding.change(self._token, size, self._size)
            self._size += size

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            self._decoding.change(self._token, -self._size, self._size)
            self._size = 0


decoding = Decoding()
