"""`/healthz` and `/readyz`, for process supervisors and load balancers.

Raw ASGI, not Django views: they answer while all threads that serve pages wait for the database.
"""

from __future__ import annotations

import asyncio

from recorder.database.errors import Busy
from recorder.ingest.auth import Receive, Scope, Send
from recorder.ingest.http import reply
from recorder.ingest.writer import writer

COMMIT_S = 1.0  # maximum duration of the test commit
OLDEST_S = 30.0  # maximum wait of a received event for its commit


async def alive(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer 200 while the process runs."""
    await reply(send, 200, {"status": "ok"})


async def ready(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer 200 if a test commit succeeds in time and no event has waited long for its commit, else 503."""
    if writer().oldest_s() > OLDEST_S:
        await reply(send, 503, {"status": "stuck", "message": "an event has waited too long for its commit"})
        return
    try:
        await asyncio.wait_for(writer().try_commit(), COMMIT_S)
    except (Busy, TimeoutError) as error:
        code = error.code if isinstance(error, Busy) else "busy"
        await reply(send, 503, {"status": code, "message": "the database cannot commit now"})
        return
    await reply(send, 200, {"status": "ok"})
