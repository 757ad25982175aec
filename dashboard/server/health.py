"""`/healthz` and `/readyz`, for whatever watches the process.

Raw ASGI, not Django views: they answer while every thread that serves pages waits for the database.
"""

from __future__ import annotations

import asyncio

from recorder.database.errors import Busy
from recorder.ingest.auth import Receive, Scope, Send
from recorder.ingest.http import reply
from recorder.ingest.writer import writer

COMMIT_S = 1.0
OLDEST_S = 30.0


async def alive(scope: Scope, receive: Receive, send: Send) -> None:
    """Say that the process answers."""
    await reply(send, 200, {"status": "ok"})


async def ready(scope: Scope, receive: Receive, send: Send) -> None:
    """Say whether events can be committed now, and none has waited long."""
    if writer().oldest_s() > OLDEST_S:
        await reply(send, 503, {"status": "stuck", "message": "an event has waited too long for its commit"})
        return
    try:
        await asyncio.wait_for(writer().try_commit(), COMMIT_S)
    except (Busy, TimeoutError) as error:
        code = error.code if isinstance(error, Busy) else "busy"
        await reply(send, 503, {"status": code, "message": "the store cannot commit now"})
        return
    await reply(send, 200, {"status": "ok"})
