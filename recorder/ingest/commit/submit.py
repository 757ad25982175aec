"""The way of a batch to the writer, within the rate of its token."""

from __future__ import annotations

from recorder.ingest.commit.writer import writer
from recorder.ingest.limits import rate_limit
from recorder.journal.batch import Batch, Receipt


async def submit(batch: Batch) -> Receipt:
    """Write a batch if its token is within its rate; return the receipt.

    Raises:
        Gap, Superseded, Mixed or Busy: nothing is stored.
    """
    rate_limit.rates.ask(batch.token)
    receipt = await writer().submit(batch)
    rate_limit.rates.count(batch.token, len(batch.lines), batch.size)
    return receipt
