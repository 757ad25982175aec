"""The feed: what rings in this process, for every subscriber. None can hold up another, or a commit.

Nobody listens, nothing is asked. A subscriber that does not keep up loses its own oldest frames.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from dashboard.lifecycle.rings import Ring, Rings
from recorder import notify
from recorder.batch import Busy
from recorder.doors import in_thread
from recorder.faults import STORE_ERRORS

log = logging.getLogger(__name__)

KEPT = 256  # frames that wait for one subscriber
AGAIN_S = 1.0  # until the store is asked again
UNANSWERED = (Busy, *STORE_ERRORS)
PIECE, PAUSE_S = KEPT // 4, 0.002  # frames handed out at once, and the time to take them
WAITING = 2_000  # commits that wait to be looked at; of more the oldest ring for nobody


@dataclass(eq=False)
class Subscriber:
    """One reader of the channel, and the projects that are theirs."""

    projects: frozenset[int]
    _frames: deque[Ring] = field(default_factory=lambda: deque(maxlen=KEPT))
    _more: asyncio.Event = field(default_factory=asyncio.Event)

    def offer(self, ring: Ring) -> None:
        """Keep a frame until it is taken."""
        if ring.project in self.projects:
            self._frames.append(ring)
            self._more.set()

    async def take(self, wait_s: float) -> list[Ring]:
        """Return the frames that wait, none after a while without any."""
        if not self._frames:
            try:
                await asyncio.wait_for(self._more.wait(), wait_s)
            except TimeoutError:
                return []
        taken = list(self._frames)
        self._frames.clear()
        self._more.clear()
        return taken


class Feed:
    """The channel of one process."""

    def __init__(self) -> None:
        self._subscribers: set[Subscriber] = set()
        self._bells: deque[notify.Bell] = deque(maxlen=WAITING)
        self._rings = Rings()
        self._task: asyncio.Task[None] | None = None

    async def subscribe(self, subscriber: Subscriber) -> None:
        """Hand what rings from now on to a subscriber."""
        if self._task is None:
            self._loop, self._heard = asyncio.get_running_loop(), asyncio.Event()
            self._bells.clear()
            notify.listen(self._hear)
            self._ready = asyncio.Event()
            self._task = self._loop.create_task(self._run())
        self._subscribers.add(subscriber)
        await self._ready.wait()

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """Stop; with the last one the feed rests."""
        self._subscribers.discard(subscriber)
        if not self._subscribers and self._task is not None:
            notify.unlisten(self._hear)
            self._task.cancel()
            self._task = None

    def _hear(self, bell: notify.Bell) -> None:
        self._bells.append(bell)
        self._loop.call_soon_threadsafe(self._heard.set)

    async def _run(self) -> None:
        await self._begin()
        self._ready.set()
        while True:
            await self._heard.wait()
            self._heard.clear()
            while self._bells:
                rings = await self._rung(self._bells.popleft())
                for at in range(0, len(rings), PIECE):
                    await self._hand(rings[at : at + PIECE])

    async def _begin(self) -> None:
        while True:
            try:
                await in_thread(self._rings.begin)
            except UNANSWERED:
                log.warning("the lifecycle channel waits until the store answers")
                await asyncio.sleep(AGAIN_S)
            else:
                return

    async def _rung(self, bell: notify.Bell) -> list[Ring]:
        try:
            return await in_thread(lambda: self._rings.of(bell))
        except UNANSWERED:
            log.warning("the lifecycle channel could not ask what a commit holds")
            await self._begin()
            return []

    async def _hand(self, rings: Sequence[Ring]) -> None:
        for subscriber in self._subscribers:
            for ring in rings:
                subscriber.offer(ring)
        if len(rings) == PIECE:  # more may follow: who reads at once loses nothing of a burst
            await asyncio.sleep(PAUSE_S)


feed = Feed()
