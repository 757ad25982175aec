"""Relays invalidations between nodes through Redis; a lost message delays a page, no data is lost.

Redis pub/sub delivers at most once and does not report what it drops. So each node numbers its messages and
sends a heartbeat each `BEAT_S` seconds. A receiver that finds a gap in the numbers, or no message of a node
for `SILENCE_S` seconds, redraws every open page.

Invariant: a number is used up for every invalidation, also for one that was dropped or not sent, so each
loss shows as a gap. Cost: one message per commit and one per second, both O(ids); the queue is bounded by
`QUEUE_MAX`.
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

GROUP = "invalidations"
BEAT_S = 1.0
SEND_S = 2.0  # timeout of one message; a slower Redis counts as unavailable
SILENCE_S = 4.0  # without any message, our own included: the connection is lost, whatever its state
AGAIN_S = 0.5
QUEUE_MAX = 500  # invalidations that wait to be sent; more are dropped, and the gap in the numbers shows it

FAULTS = (OSError, RedisError, TimeoutError)


class GapDetector:
    """Detects missed messages of other nodes by their numbers and by silence."""

    def __init__(self, node: str) -> None:
        self._node = node
        self._last: dict[str, tuple[int, float]] = {}  # node: its last number, and when it came

    def has_missed(self, node: str, number: int, now: float) -> bool:
        """Record a message; return whether one before it was missed."""
        last, _ = self._last.get(node, (0, now))
        self._last[node] = number, now
        return node != self._node and number != last + 1

    def has_lost_one(self, now: float) -> bool:
        """Return whether a node is silent: it may have ended between a commit and its invalidation."""
        silent = [node for node, (_, at) in self._last.items() if now - at > SILENCE_S]
        for node in silent:
            del self._last[node]
        return bool(silent)


class RedisRelay:
    """Sends this node's invalidations, publishes those of others. Create it on the server's event loop."""

    def __init__(self) -> None:
        self._node = uuid4().hex
        self._loop = asyncio.get_running_loop()
        self._layer: Any = get_channel_layer()
        self._gaps = GapDetector(self._node)
        self._number = 0
        self._is_cut = False
        self._waiting: list[Invalidation] = []
        self._lock = Lock()
        self._more = asyncio.Event()
        self._tasks = [asyncio.ensure_future(part) for part in (self._send_all(), self._receive_all())]
        invalidation.add_relay(self.carry)

    def carry(self, touched: Invalidation) -> None:
        """Queue an invalidation for the other nodes, from any thread, without waiting for Redis."""
        with self._lock:
            self._waiting.append(touched)
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._more.set)

    async def _send_all(self) -> None:
        """Send queued invalidations, or a heartbeat when the queue is empty."""
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
            return  # the number is used up, so the others detect the gap
        try:
            await asyncio.wait_for(self._layer.group_send(GROUP, self._message(touched)), SEND_S)
        except FAULTS:
            pass  # `_receive_all` finds and logs the lost connection
        except Exception:
            log.exception("an invalidation cannot be sent: other nodes will detect the gap")

    def _message(self, touched: Invalidation | None) -> dict[str, Any]:
        content = touched.message() if touched else None
        return {"type": "invalidation", "node": self._node, "number": self._number, "content": content}

    async def _receive_all(self) -> None:
        """Receive until cancelled: every error is logged and retried, as nothing would restart this task."""
        while True:
            try:
                await self._receive()
            except FAULTS as error:
                if not self._is_cut:
                    log.warning(
                        "Redis does not answer (%s): pages show other nodes' events late",
                        type(error).__name__,
                    )
            except Exception:
                log.exception("a message of another node cannot be decoded")
            self._is_cut = True
            with suppress(Exception):  # a connection that cannot be closed is left behind
                await asyncio.wait_for(self._layer.flush(), SEND_S)
            await asyncio.sleep(AGAIN_S)

    async def _receive(self) -> None:
        channel = await asyncio.wait_for(self._layer.new_channel(GROUP), SEND_S)
        await asyncio.wait_for(self._layer.group_add(GROUP, channel), SEND_S)
        if self._is_cut:
            log.warning("Redis answers again: every open page is redrawn")
            invalidation.publish_gap()
        self._is_cut = False
        while True:
            self._take(await asyncio.wait_for(self._layer.receive(channel), SILENCE_S))

    def _take(self, message: Mapping[str, Any]) -> None:
        now = self._loop.time()
        missed = self._gaps.has_missed(message["node"], message["number"], now)
        if self._gaps.has_lost_one(now) or missed:
            invalidation.publish_gap()
        if message["content"] is not None and message["node"] != self._node:
            invalidation.publish_here(Invalidation.of(message["content"]))
