"""`GET /api/v1/lifecycle`: the lifecycle stream as server-sent events, for a read token or a signed-in user.

Raw ASGI inside Channels' cookie middleware. Two tasks per connection: `_send_events` takes events from the
subscriber's queue and sends them, `_disconnected` waits for the client to leave. Sending waits for a slow
client (see `dashboard/server/daphne.py`), while its queue drops the oldest events. Access is checked again
every `RECHECK_S` seconds, so a revoked token ends the stream.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import parse_qs

from django.conf import settings
from django.contrib.auth.models import AnonymousUser

from dashboard.lifecycle.broadcast import Subscriber, feed
from dashboard.lifecycle.events import LifecycleEvent
from dashboard.security import authenticate
from dashboard.security.access import projects_of
from recorder.access import tokens
from recorder.database.errors import Busy
from recorder.ingest.auth import Receive, Scope, Send, header, in_thread
from recorder.ingest.http import Fault, refused_by, reply

RECHECK_S = 30.0  # between two checks of access
Serialize = Callable[[Sequence[LifecycleEvent]], Awaitable[bytes]]


async def frames(events: Sequence[LifecycleEvent]) -> bytes:
    """Serialise events as server-sent events."""
    return b"".join(event.line for event in events)


async def lifecycle(scope: Scope, receive: Receive, send: Send, serialize: Serialize = frames) -> None:
    """Stream to one subscriber until it disconnects or loses access; other pages pass their `serialize`."""
    if scope["method"] != "GET":
        await reply(send, 405, {"code": "bad_method", "message": "this path is read-only"}, allow="GET")
        return
    try:
        subscriber = Subscriber(await _projects(scope))
    except Fault as fault:
        await reply(send, fault.status, fault.body, **fault.headers)
        return
    except Busy as busy:
        refusal = refused_by(busy)
        await reply(send, refusal.status, refusal.body, **refusal.headers)
        return
    try:
        await feed.subscribe(subscriber)
        await _stream(scope, receive, send, subscriber, serialize)
    finally:
        feed.unsubscribe(subscriber)


async def _stream(
    scope: Scope, receive: Receive, send: Send, subscriber: Subscriber, serialize: Serialize
) -> None:
    headers = {
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        "x-accel-buffering": "no",
        "x-content-type-options": "nosniff",
    }
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": 200, "headers": pairs})
    await _write(send, b": listening\n\n")
    sending = asyncio.create_task(_send_events(scope, send, subscriber, serialize))
    leaving = asyncio.create_task(_disconnected(receive))
    try:
        await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        sending.cancel()
        leaving.cancel()
    # Access was lost: end the response properly, so that the client does not see a broken connection.
    if sending.done() and not sending.cancelled() and sending.exception() is None:
        await send({"type": "http.response.body", "body": b""})


async def _send_events(scope: Scope, send: Send, subscriber: Subscriber, serialize: Serialize) -> None:
    """Send events, or a comment as heartbeat, until access is lost."""
    checked_at = time.monotonic()
    while True:
        events = await subscriber.take()
        if time.monotonic() - checked_at > RECHECK_S:
            try:
                subscriber.projects = await _projects(scope)
            except Fault:
                return
            except Busy:
                pass  # the database is busy: keep the access of the last check
            checked_at = time.monotonic()
        # Events of a project that was lost a moment ago may still be in the queue.
        events = [event for event in events if event.project in subscriber.projects]
        await _write(send, await serialize(events) or b": \n\n")


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _write(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def _projects(scope: Scope) -> frozenset[int]:
    """Return the projects that the client may read, or the one it selected. Raises Fault or Busy."""
    slug = parse_qs(scope["query_string"].decode("latin-1")).get("project", [""])[-1]
    return await in_thread(lambda: _readable(scope, slug))


def _readable(scope: Scope, slug: str) -> frozenset[int]:
    authorization = header(scope["headers"], b"authorization")
    bearer = tokens.bearer(authorization or "")
    if bearer is not None:
        projects = _of_token(bearer)
    else:
        user = authenticate.user_of(scope["cookies"].get(settings.SESSION_COOKIE_NAME))
        if isinstance(user, AnonymousUser):
            raise _unauthorized()
        projects = dict(projects_of(user).values_list("slug", "pk"))
    if slug and slug not in projects:
        raise Fault(404, "not_found", "no such project")
    return frozenset([projects[slug]] if slug else projects.values())


def _of_token(bearer: str) -> dict[str, int]:
    token = tokens.find(bearer)
    if token is None:
        raise _unauthorized()
    if not tokens.allows(token, "read"):
        raise Fault(403, "forbidden", "the token lacks the scope read")
    return {token.project.slug: token.project.pk}


def _unauthorized() -> Fault:
    challenge = 'Bearer realm="loopscope"'
    message = "a bearer token with scope read is required"
    return Fault(401, "unauthorized", message, www_authenticate=challenge)
