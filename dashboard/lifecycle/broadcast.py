"""The feed of lifecycle events: one task per process derives events from commits for all subscribers.

Path of an event: a commit publishes an invalidation on any thread; `_queue_invalidation` queues it; `_run`
takes all queued ones, derives their events with a few queries in a thread, and appends them to each
subscriber's queue.

Back-pressure: nothing ever waits for a subscriber. Each has a queue of `BACKLOG_MAX` events and loses its own
oldest ones beyond that; a burst is handed out in chunks with a pause, so that a subscriber that reads at once
loses nothing. Invalidations beyond `INVALIDATIONS_MAX` drop the oldest.

Invariants: all subscribers of a project receive the same events in the same order; without subscribers
nothing is queued or queried; a commit is never delayed, it only appends to a queue. Cost: queries per batch
of commits (at most one batch every `GATHER_S`), not per commit or subscriber, since waking fifty subscribers
for each commit slows the commits.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dashboard.lifecycle.events import LifecycleEvent, LifecycleReducer, may_have_events
from recorder.database.errors import STORE_ERRORS, Busy
from recorder.ingest.auth import T, in_thread
from recorder.pubsub import invalidation

log = logging.getLogger(__name__)

BACKLOG_MAX = 256  # events queued for one subscriber
RETRY_S = 1.0  # between two attempts while the database is unavailable
UNAVAILABLE = (Busy, *STORE_ERRORS)
HEARTBEAT_S = 15.0  # between comments on idle connections; one timer for all subscribers
GATHER_S = 0.05  # commits within this time are queried together
CHUNK, PAUSE_S = BACKLOG_MAX // 4, 0.002  # events handed out at once, and the pause in which they are taken
INVALIDATIONS_MAX = 2_000  # queued commits; beyond it the oldest are dropped, with their events


@dataclass(eq=False)
class Subscriber:
    """One connection, the projects it may read, and its queue. Event loop only."""

    projects: frozenset[int]
    _events: deque[LifecycleEvent] = field(default_factory=lambda: deque(maxlen=BACKLOG_MAX))
    _more: asyncio.Event = field(default_factory=asyncio.Event)

    def offer(self, events: Sequence[LifecycleEvent]) -> None:
        """Queue the events of the subscriber's projects; a full queue drops its oldest."""
        self._events.extend(event for event in events if event.project in self.projects)
        if self._events:
            self._more.set()

    def wake(self) -> None:
        """Let `take` return even without events, for a heartbeat."""
        self._more.set()

    async def take(self) -> list[LifecycleEvent]:
        """Wait for events; remove and return all queued ones, none after a mere `wake`."""
        await self._more.wait()
        events = list(self._events)
        self._events.clear()
        self._more.clear()
        return events


class Feed:
    """The lifecycle events of one process, for all its subscribers."""

    def __init__(self) -> None:
        self._subscribers: set[Subscriber] = set()
        self._invalidations: deque[invalidation.Invalidation] = deque(maxlen=INVALIDATIONS_MAX)
        self._reducer = LifecycleReducer()
        self._tasks: list[asyncio.Task[None]] = []

    async def subscribe(self, subscriber: Subscriber) -> None:
        """Queue events from now on for a subscriber; return once the running turns are loaded."""
        if not self._tasks:
            self._loop, self._is_queued = asyncio.get_running_loop(), asyncio.Event()
            self._invalidations.clear()
            # Before the running turns are loaded: a turn that ends in between must not be missed.
            invalidation.subscribe(self._queue_invalidation)
            self._ready = asyncio.Event()
            self._tasks = [self._loop.create_task(work) for work in (self._run(), self._send_heartbeats())]
        self._subscribers.add(subscriber)
        await self._ready.wait()

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """Remove a subscriber; without any the feed stops listening to commits."""
        self._subscribers.discard(subscriber)
        if not self._subscribers and self._tasks:
            invalidation.unsubscribe(self._queue_invalidation)
            for task in self._tasks:
                task.cancel()
            self._tasks.clear()

    def _queue_invalidation(self, touched: invalidation.Invalidation) -> None:
        # Called by the committing thread: an append to a deque is atomic and needs no lock.
        if may_have_events(touched):
            self._invalidations.append(touched)
            self._loop.call_soon_threadsafe(self._is_queued.set)

    async def _run(self) -> None:
        await self._query(self._reducer.begin)
        self._ready.set()
        while True:
            await self._is_queued.wait()
            self._is_queued.clear()
            events = await self._next_events()
            for at in range(0, len(events), CHUNK):
                await self._hand_out(events[at : at + CHUNK])
            # The first commit after a pause is handled at once; those of the next `GATHER_S` together.
            await asyncio.sleep(GATHER_S)

    async def _send_heartbeats(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            for subscriber in self._subscribers:
                subscriber.wake()

    async def _next_events(self) -> list[LifecycleEvent]:
        # By length, not until empty: commits may be queued faster than they are taken.
        invalidations = [self._invalidations.popleft() for _ in range(len(self._invalidations))]
        return await self._query(lambda: self._reducer.feed(invalidations))

    async def _query(self, query: Callable[[], T]) -> T:
        """Return the result of a query, repeated until the database is available."""
        while True:
            try:
                return await in_thread(query)
            except UNAVAILABLE:
                log.warning("the database is unavailable: the lifecycle stream retries in %s s", RETRY_S)
                await asyncio.sleep(RETRY_S)

    async def _hand_out(self, events: Sequence[LifecycleEvent]) -> None:
        for subscriber in self._subscribers:
            subscriber.offer(events)
        if len(events) == CHUNK:  # more may follow: a subscriber that reads at once must not lose any
            await asyncio.sleep(PAUSE_S)


feed = Feed()
