"""How much one access token may send for long: beyond it a sender gets a delay to wait, and nothing is lost.

Counted in each process; used on the event loop alone.
"""

from __future__ import annotations

from time import monotonic

from django.conf import settings

from recorder.database.errors import Busy
from recorder.ingest.writer import writer
from recorder.journal.batch import Batch, Receipt

BURST_S = 10.0  # of the rate may come at once


class Rates:
    """For each token the time until which it has used up its rate."""

    def __init__(self, events_s: int, bytes_s: int) -> None:
        self._events_s, self._bytes_s = events_s, bytes_s
        self._used_until: dict[int, float] = {}

    def ask(self, token: int) -> None:
        """Raise Busy if the token is ahead of its rate by more than a burst."""
        ahead_s = self._used_until.get(token, 0.0) - monotonic() - BURST_S
        if ahead_s > 0:
            raise Busy("rate_limited", 1 + int(ahead_s * 1000))

    def count(self, batch: Batch) -> None:
        """Note a batch that was stored."""
        events_s = len(batch.lines) / self._events_s if self._events_s else 0.0
        bytes_s = batch.size / self._bytes_s if self._bytes_s else 0.0
        if spent := max(events_s, bytes_s):
            used_until = self._used_until.get(batch.token, 0.0)
            self._used_until[batch.token] = max(used_until, monotonic()) + spent


rates = Rates(settings.LOOPSCOPE_LIMITS["token_events_s"], settings.LOOPSCOPE_LIMITS["token_bytes_s"])


async def submit(batch: Batch) -> Receipt:
    """Write a batch if its token may send now. Raises Gap, Superseded or Busy: nothing is stored."""
    rates.ask(batch.token)
    receipt = await writer().submit(batch)
    rates.count(batch)
    return receipt
