"""`/healthz` and `/readyz`, for process supervisors and load balancers.

Raw ASGI, not Django views: they answer while all threads that serve pages wait for the database.

The server commits a trial every `EVERY_S` seconds (`watch`). `/readyz` reports to a stranger how the last one
ended, so no stranger can make the database write; with a token of any scope it commits one now.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import monotonic

from recorder.asgi.scope import Receive, Scope, Send
from recorder.database.errors import Busy
from recorder.ingest.auth import Archived, NoToken, WrongScope, authenticate
from recorder.ingest.commit.writer import writer
from recorder.ingest.http.response import reply

COMMIT_S = 1.0  # maximum duration of the test commit
OLDEST_S = 30.0  # maximum wait of a received event for its commit
EVERY_S = 5.0  # between two checks of the server
STALE_S = 3 * (EVERY_S + COMMIT_S)  # an older check is none: the server no longer makes them


@dataclass(frozen=True, slots=True)
class Check:
    """The result of a trial commit: `code` is empty if it succeeded."""

    code: str
    made_at: float


_last: Check | None = None


async def alive(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer 200 while the process runs."""
    await reply(send, 200, {"status": "ok"})


async def ready(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer 200 if the last test commit succeeded and no event has waited long for its commit, else 503."""
    if writer().oldest_s() > OLDEST_S:
        await reply(send, 503, {"status": "stuck", "message": "an event has waited too long for its commit"})
        return
    check = await try_commit() if await _has_valid_token(scope) else await _last_check()
    if check is None or monotonic() - check.made_at > STALE_S:
        await reply(send, 503, {"status": "unknown", "message": "no test commit was made lately"})
    elif check.code:
        await reply(send, 503, {"status": check.code, "message": "the database cannot commit now"})
    else:
        await reply(send, 200, {"status": "ok"})


async def watch() -> None:
    """Try a commit every `EVERY_S` seconds, for ever."""
    while True:
        await try_commit()
        await asyncio.sleep(EVERY_S)


async def try_commit() -> Check:
    """Try a commit and keep how it ended, for strangers."""
    global _last  # noqa: PLW0603  one a process
    code = ""
    try:
        await asyncio.wait_for(writer().try_commit(), COMMIT_S)
    except (Busy, TimeoutError) as error:
        code = error.code if isinstance(error, Busy) else "busy"
    _last = Check(code, monotonic())
    return _last


async def _last_check() -> Check | None:
    """Return the last check; a server that has just started is making its first."""
    deadline = monotonic() + COMMIT_S
    while _last is None and monotonic() < deadline:  # noqa: ASYNC110  an event belongs to one event loop
        await asyncio.sleep(0.02)
    return _last


async def _has_valid_token(scope: Scope) -> bool:
    """Whether the request has a valid token. False while the database does not answer."""
    try:
        await authenticate(scope["headers"])
    except (Archived, WrongScope):
        return True
    except (NoToken, Busy):
        return False
    return True
