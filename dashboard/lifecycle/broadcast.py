"""The feed: what rings in this process, for every subscriber. None can hold up another, or a commit.

Nobody listens, nothing is asked. What rings is told at once and then at most every 50 ms: to wake fifty
subscribers for each commit costs the commits. A subscriber that does not keep up loses its own oldest frames.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dashboard.lifecycle.events import Ring, Rings, may_ring
from recorder.database.errors import STORE_ERRORS, Busy
from recorder.ingest.auth import T, in_thread
from recorder.pubsub import invalidation

log = logging.getLogger(__name__)

KEPT = 256  # frames that wait for one subscriber
AGAIN_S = 1.0  # until the store is asked again
UNANSWERED = (Busy, *STORE_ERRORS)
BEAT_S = 15.0  # between comments that keep a quiet line open; one clock for all, not one a frame
GATHER_S = 0.05  # what rings in such a time is looked up, and told, at once
PIECE, PAUSE_S = KEPT // 4, 0.002  # frames handed out at once, and the time to take them
WAITING = 2_000  # commits that wait to be looked at; of more the oldest ring for nobody


@dataclass(eq=False)
class Subscriber:
    """One reader of the channel, and the projects that are theirs."""

    projects: frozenset[int]
    _frames: deque[Ring] = field(default_factory=lambda: deque(maxlen=KEPT))
    _more: asyncio.Event = field(default_factory=asyncio.Event)

    def offer(self, rings: Sequence[Ring]) -> None:
        """Keep the frames that are theirs until they are taken."""
        self._frames.extend(ring for ring in rings if ring.project in self.projects)
        if self._frames:
            self._more.set()

    def wake(self) -> None:
        """Have `take` return, whether or not a frame waits."""
        self._more.set()

    async def take(self) -> list[Ring]:
        """Return the frames that wait, none if it was only woken."""
        await self._more.wait()
        taken = list(self._frames)
        self._frames.clear()
        self._more.clear()
        return taken


class Feed:
    """The channel of one process."""

    def __init__(self) -> None:
        self._subscribers: set[Subscriber] = set()
        self._invalidations: deque[invalidation.Invalidation] = deque(maxlen=WAITING)
        self._rings = Rings()
        self._tasks: list[asyncio.Task[None]] = []

    async def subscribe(self, subscriber: Subscriber) -> None:
        """Hand what rings from now on to a subscriber."""
        if not self._tasks:
            self._loop, self._heard = asyncio.get_running_loop(), asyncio.Event()
            self._invalidations.clear()
            invalidation.subscribe(self._hear)
            self._ready = asyncio.Event()
            self._tasks = [self._loop.create_task(each) for each in (self._run(), self._beat())]
        self._subscribers.add(subscriber)
        await self._ready.wait()

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """Stop; with the last one the feed rests."""
        self._subscribers.discard(subscriber)
        if not self._subscribers and self._tasks:
            invalidation.unsubscribe(self._hear)
            for task in self._tasks:
                task.cancel()
            self._tasks.clear()

    def _hear(self, touched: invalidation.Invalidation) -> None:
        if may_ring(touched):
            self._invalidations.append(touched)
            self._loop.call_soon_threadsafe(self._heard.set)

    async def _run(self) -> None:
        await self._answered(self._rings.begin)
        self._ready.set()
        while True:
            await self._heard.wait()
            self._heard.clear()
            rings = await self._rung()
            for at in range(0, len(rings), PIECE):
                await self._hand(rings[at : at + PIECE])
            await asyncio.sleep(GATHER_S)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            for subscriber in self._subscribers:
                subscriber.wake()

    async def _rung(self) -> list[Ring]:
        invalidations = [self._invalidations.popleft() for _ in range(len(self._invalidations))]
        return await self._answered(lambda: self._rings.of(invalidations))

    async def _answered(self, look: Callable[[], T]) -> T:
        """Return what the store says, as soon as it can."""
        while True:
            try:
                return await in_thread(look)
            except UNANSWERED:
                log.warning("the lifecycle channel waits until the store answers")
                await asyncio.sleep(AGAIN_S)

    async def _hand(self, rings: Sequence[Ring]) -> None:
        for subscriber in self._subscribers:
            subscriber.offer(rings)
        if len(rings) == PIECE:  # more may follow: who reads at once loses nothing of a burst
            await asyncio.sleep(PAUSE_S)


feed = Feed()
