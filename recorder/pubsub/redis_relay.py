"""Bells between nodes, by Redis: only ids travel, so what is lost delays a page and loses nothing.

Redis delivers at most once and says nothing of what it drops. So each node numbers what it says and says
something every second: whoever hears a hole in the numbers, or nothing at all, redraws every open page.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from threading import Lock
from typing import Any
from uuid import uuid4

from channels.layers import get_channel_layer  # type: ignore[import-untyped]  # ships no types
from redis.exceptions import RedisError

from recorder.pubsub import invalidation
from recorder.pubsub.invalidation import Invalidation

log = logging.getLogger(__name__)

GROUP = "bells"
BEAT_S = 1.0
SEND_S = 2.0  # one message; a Redis that takes longer is as good as gone
DEAF_S = 4.0  # without a word, our own included: the line is cut, whatever it says itself
AGAIN_S = 0.5
QUEUE_MAX = 500  # bells that wait to be sent; more are dropped, and the hole in the numbers tells

FAULTS = (OSError, RedisError, TimeoutError)


class GapDetector:
    """What this node has heard of the others: whether anything of theirs was missed."""

    def __init__(self, node: str) -> None:
        self._node = node
        self._last: dict[str, tuple[int, float]] = {}  # node: its last number, and when it came

    def has_missed(self, node: str, number: int, now: float) -> bool:
        """Note a message; say whether one before it was missed."""
        last, _ = self._last.get(node, (0, now))
        self._last[node] = number, now
        return node != self._node and number != last + 1

    def has_lost_one(self, now: float) -> bool:
        """Say whether a node has fallen silent: it may have ended between a commit and its bell."""
        silent = [node for node, (_, at) in self._last.items() if now - at > DEAF_S]
        for node in silent:
            del self._last[node]
        return bool(silent)


class RedisRelay:
    """Carries this node's bells to the others and rings theirs here. Made on the loop that serves."""

    def __init__(self) -> None:
        self._node = uuid4().hex
        self._loop = asyncio.get_running_loop()
        self._layer: Any = get_channel_layer()
        self._ears = GapDetector(self._node)
        self._number = 0
        self._is_cut = False
        self._waiting: list[Invalidation] = []
        self._lock = Lock()
        self._more = asyncio.Event()
        self._tasks = [asyncio.ensure_future(part) for part in (self._speak(), self._hear())]
        invalidation.add_relay(self.carry)

    def carry(self, touched: Invalidation) -> None:
        """Have a bell sent to the others, from any thread, without waiting for Redis."""
        with self._lock:
            self._waiting.append(touched)
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._more.set)

    async def _speak(self) -> None:
        """Send what waits, and a beat when nothing does."""
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._more.wait(), BEAT_S)
            self._more.clear()
            with self._lock:
                invalidations, self._waiting = self._waiting, []
            self._number += max(0, len(invalidations) - QUEUE_MAX)
            for touched in invalidations[-QUEUE_MAX:]:
                await self._send(touched)
            if not invalidations:
                await self._send(None)

    async def _send(self, touched: Invalidation | None) -> None:
        self._number += 1
        if self._is_cut:
            return  # the number is used up: the others will know that they missed something
        try:
            await asyncio.wait_for(self._layer.group_send(GROUP, self._message(touched)), SEND_S)
        except FAULTS:
            pass  # who hears it knows first
        except Exception:
            log.exception("a bell cannot be said: other nodes will miss its number")

    def _message(self, touched: Invalidation | None) -> dict[str, Any]:
        said = touched.message() if touched else None
        return {"type": "bell", "node": self._node, "number": self._number, "bell": said}

    async def _hear(self) -> None:
        """Listen for good: were this task to end, nobody would notice that other nodes are heard no more."""
        while True:
            try:
                await self._listen()
            except FAULTS as error:
                if not self._is_cut:
                    log.warning(
                        "Redis does not answer (%s): pages show other nodes' events late",
                        type(error).__name__,
                    )
            except Exception:
                log.exception("what another node said cannot be read")
            self._is_cut = True
            with suppress(Exception):  # what cannot be closed is left behind
                await asyncio.wait_for(self._layer.flush(), SEND_S)
            await asyncio.sleep(AGAIN_S)

    async def _listen(self) -> None:
        channel = await asyncio.wait_for(self._layer.new_channel("bells"), SEND_S)
        await asyncio.wait_for(self._layer.group_add(GROUP, channel), SEND_S)
        if self._is_cut:
            log.warning("Redis answers again: every open page is redrawn")
            invalidation.publish_gap()
        self._is_cut = False
        while True:
            self._take(await asyncio.wait_for(self._layer.receive(channel), DEAF_S))

    def _take(self, message: Mapping[str, Any]) -> None:
        now = self._loop.time()
        missed = self._ears.has_missed(message["node"], message["number"], now)
        if self._ears.has_lost_one(now) or missed:
            invalidation.publish_gap()
        if message["bell"] is not None and message["node"] != self._node:
            invalidation.publish_here(Invalidation.of(message["bell"]))
