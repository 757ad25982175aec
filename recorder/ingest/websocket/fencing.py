"""One connection for each producer: a newer connection, on any node, takes it over.

The producer's epoch in the database decides for each batch; invalidations only close the old connection
earlier.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

from recorder.ingest.auth import in_thread
from recorder.ingest.commit.writer import writer
from recorder.journal import producers
from recorder.journal.batch import Batch, Claimed
from recorder.pubsub import invalidation


@dataclass(eq=False, slots=True)
class Hold:
    """A connection's claim of a producer; `lost` is called when a newer connection has claimed it."""

    producer: str
    high: int
    key: int
    epoch: int
    loop: asyncio.AbstractEventLoop
    lost: Callable[[], None]

    async def check(self) -> None:
        """Check the epoch in the database: without Redis other nodes send no invalidation. Raises Busy."""
        if self.key and await in_thread(lambda: producers.epoch(self.key)) > self.epoch:
            self.lost()

    def let_go(self) -> None:
        _holds.discard(self)


_holds: set[Hold] = set()  # of this process


async def take(claim: Batch, lost: Callable[[], None]) -> Hold:
    """Claim a producer; earlier batches of its former connection are stored by then. Raises Busy."""
    invalidation.subscribe(_note)
    claimed = await writer().submit(claim)
    assert isinstance(claimed, Claimed)
    loop = asyncio.get_running_loop()
    hold = Hold(claimed.producer, claimed.upto, claimed.key, claimed.epoch, loop, lost)
    _holds.add(hold)
    return hold


def new(lost: Callable[[], None]) -> Hold:
    """Claim a new producer under a generated name."""
    return Hold(str(uuid4()), -1, 0, 0, asyncio.get_running_loop(), lost)


def _note(touched: invalidation.Invalidation) -> None:
    for hold in list(_holds) if touched.claimed else ():
        if touched.claimed.get(hold.key, 0) > hold.epoch and not hold.loop.is_closed():
            hold.loop.call_soon_threadsafe(hold.lost)
