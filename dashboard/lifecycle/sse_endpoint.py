"""`GET /api/v1/lifecycle`: the channel as server-sent events, for a token of scope read or a person.

Needs Channels' cookie middleware around it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import parse_qs

from django.conf import settings
from django.contrib.auth.models import AnonymousUser

from dashboard.lifecycle.broadcast import Subscriber, feed
from dashboard.lifecycle.events import Ring
from dashboard.security import authenticate
from dashboard.security.access import projects_of
from recorder.access import tokens
from recorder.database.errors import Busy
from recorder.ingest.auth import Receive, Scope, Send, header, in_thread
from recorder.ingest.http import Fault, refused_by, reply

RECHECK_S = 30.0  # between looks at who reads, and what they may see by now
Tell = Callable[[Sequence[Ring]], Awaitable[bytes]]


async def frames(rings: Sequence[Ring]) -> bytes:
    """Write rings as the channel does."""
    return b"".join(ring.line for ring in rings)


async def lifecycle(scope: Scope, receive: Receive, send: Send, tell: Tell = frames) -> None:
    """Answer one subscriber until it leaves, or may no longer listen."""
    if scope["method"] != "GET":
        await reply(send, 405, {"code": "bad_method", "message": "the channel is read"}, allow="GET")
        return
    try:
        subscriber = Subscriber(await _projects(scope))
    except Fault as fault:
        await reply(send, fault.status, fault.body, **fault.headers)
        return
    except Busy as busy:
        later = refused_by(busy)
        await reply(send, later.status, later.body, **later.headers)
        return
    try:
        await feed.subscribe(subscriber)
        await _stream(scope, receive, send, subscriber, tell)
    finally:
        feed.unsubscribe(subscriber)


async def _stream(scope: Scope, receive: Receive, send: Send, subscriber: Subscriber, tell: Tell) -> None:
    headers = {
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        "x-accel-buffering": "no",
        "x-content-type-options": "nosniff",
    }
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": 200, "headers": pairs})
    await _write(send, b": listening\n\n")
    telling = asyncio.create_task(_tell(scope, send, subscriber, tell))
    leaving = asyncio.create_task(_left(receive))
    try:
        await asyncio.wait((telling, leaving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        telling.cancel()
        leaving.cancel()
    if telling.done() and not telling.cancelled() and telling.exception() is None:
        await send({"type": "http.response.body", "body": b""})


async def _tell(scope: Scope, send: Send, subscriber: Subscriber, tell: Tell) -> None:
    checked_at = time.monotonic()
    while True:
        rings = await subscriber.take()
        if time.monotonic() - checked_at > RECHECK_S:
            try:
                subscriber.projects = await _projects(scope)
            except Fault:
                return
            except Busy:
                pass  # the store cannot say now who this is; they were known a moment ago
            checked_at = time.monotonic()
        rings = [ring for ring in rings if ring.project in subscriber.projects]
        await _write(send, await tell(rings) or b": \n\n")


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _write(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def _projects(scope: Scope) -> frozenset[int]:
    """Return the projects whose rings the one who asks may hear. Raises Fault or Busy."""
    wanted = parse_qs(scope["query_string"].decode("latin-1")).get("project", [""])[-1]
    return await in_thread(lambda: _mine(scope, wanted))


def _mine(scope: Scope, wanted: str) -> frozenset[int]:
    authorization = header(scope["headers"], b"authorization")
    bearer = tokens.bearer(authorization or "")
    if bearer is not None:
        mine = _of_token(bearer)
    else:
        user = authenticate.user_of(scope["cookies"].get(settings.SESSION_COOKIE_NAME))
        if isinstance(user, AnonymousUser):
            raise _unknown()
        mine = dict(projects_of(user).values_list("slug", "pk"))
    if wanted and wanted not in mine:
        raise Fault(404, "not_found", "there is no such project")
    return frozenset([mine[wanted]] if wanted else mine.values())


def _of_token(bearer: str) -> dict[str, int]:
    token = tokens.find(bearer)
    if token is None:
        raise _unknown()
    if not tokens.allows(token, "read"):
        raise Fault(403, "forbidden", "the token lacks the scope read")
    return {token.project.slug: token.project.pk}


def _unknown() -> Fault:
    ask = 'Bearer realm="loopscope"'
    return Fault(401, "unauthorized", "a bearer token with scope read is needed", www_authenticate=ask)
