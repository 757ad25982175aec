"""`GET /api/v1/lifecycle`: the lifecycle stream as server-sent events, for a read token or a signed-in user.

Raw ASGI inside Channels' cookie middleware. Three tasks per connection: `_send_events` takes events from the
subscriber's queue and sends them, `_access_lost` checks again whether the client may read,
`_wait_for_disconnect` waits for it to leave. Sending waits for a slow client (see
`dashboard/server/daphne.py`), while its queue drops the oldest events.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import parse_qs

from django.conf import settings
from django.contrib.auth.models import User

from dashboard.lifecycle.broadcast import Subscriber, feed
from dashboard.lifecycle.events import LifecycleEvent
from dashboard.security import authenticate
from dashboard.security.recheck import Bearer, SignIn, until_lost
from recorder.access import tokens
from recorder.access.client_address import scope_address
from recorder.access.rights import Right
from recorder.asgi.scope import Receive, Scope, Send, header
from recorder.database.errors import Busy
from recorder.ingest.auth import in_thread
from recorder.ingest.http.response import Fault, refused_by, reply

Serialize = Callable[[Sequence[LifecycleEvent]], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class Client:
    """Projects of a client: `projects` when it connects; `projects_now` queries, None without access."""

    projects: frozenset[int]
    projects_now: Callable[[], frozenset[int] | None]


async def frames(events: Sequence[LifecycleEvent]) -> bytes:
    """Serialise events as server-sent events."""
    return b"".join(event.line for event in events)


async def lifecycle(scope: Scope, receive: Receive, send: Send, serialize: Serialize = frames) -> None:
    """Stream to one subscriber until it disconnects or loses access; other pages pass their `serialize`."""
    if scope["method"] != "GET":
        await reply(send, 405, {"code": "bad_method", "message": "this path is read-only"}, allow="GET")
        return
    try:
        client = await _client(scope)
    except Fault as fault:
        await reply(send, fault.status, fault.body, **fault.headers)
        return
    except Busy as busy:
        refusal = refused_by(busy)
        await reply(send, refusal.status, refusal.body, **refusal.headers)
        return
    subscriber = Subscriber(client.projects)
    try:
        await feed.subscribe(subscriber)
        sending = partial(_send_events, send, subscriber, serialize)
        await _stream(receive, send, sending, partial(_access_lost, client, subscriber))
    finally:
        feed.unsubscribe(subscriber)


async def _stream(receive: Receive, send: Send, *work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Answer, and run `work` until a part of it returns or the client disconnects."""
    headers = {
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        "x-accel-buffering": "no",
        "x-content-type-options": "nosniff",
    }
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": 200, "headers": pairs})
    await _write(send, b": listening\n\n")
    leaving = asyncio.create_task(_wait_for_disconnect(receive))
    tasks = [leaving, *(asyncio.create_task(each()) for each in work)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
    for task in tasks:
        if task.done():
            task.result()  # raises what ended it: the server breaks off the connection
    # Access was lost: end the response properly, so that the client does not see a broken connection.
    if not leaving.done():
        await send({"type": "http.response.body", "body": b""})


async def _access_lost(client: Client, subscriber: Subscriber) -> None:
    """Return as soon as the client may read nothing any more; until then update what it may read."""

    def may_read() -> bool:
        projects = client.projects_now()
        subscriber.projects = projects or frozenset()
        return projects is not None

    await until_lost(may_read)


async def _send_events(send: Send, subscriber: Subscriber, serialize: Serialize) -> None:
    """Send events, or a comment as heartbeat."""
    while True:
        events = await subscriber.take()
        # Events of a project that was lost a moment ago may still be in the queue.
        events = [event for event in events if event.project in subscriber.projects]
        await _write(send, await serialize(events) or b": \n\n")


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _write(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def _client(scope: Scope) -> Client:
    """Return what the client may read: all its projects, or the one it selected. Raises Fault or Busy."""
    slug = parse_qs(scope["query_string"].decode("latin-1")).get("project", [""])[-1]
    return await in_thread(lambda: _client_of(scope, slug))


def _client_of(scope: Scope, slug: str) -> Client:
    bearer = tokens.bearer(header(scope["headers"], b"authorization") or "")
    if bearer is not None:
        return _client_of_token(bearer, slug, scope_address(scope))
    session = scope["cookies"].get(settings.SESSION_COOKIE_NAME)
    user = authenticate.user_of(session)
    if not isinstance(user, User):
        raise _no_access()
    sign_in = SignIn.of(user, session)
    return Client(_selected_projects(sign_in.projects(Right.READ), slug), partial(_of_sign_in, sign_in, slug))


def _client_of_token(bearer: str, slug: str, address: str) -> Client:
    token = tokens.find(bearer)
    if token is None:
        raise _no_access()
    if not tokens.has_right(token, Right.READ):
        raise Fault(403, "forbidden", "the token lacks the scope read")
    tokens.note_use(token, address)
    projects = _selected_projects({token.project.slug: token.project.pk}, slug)
    has = partial(Bearer(bearer).has, token.project.pk, Right.READ)
    return Client(projects, lambda: projects if has() else None)


def _of_sign_in(sign_in: SignIn, slug: str) -> frozenset[int] | None:
    """Return what a signed-in user may read now, None after the sign-in or the access has ended."""
    projects = sign_in.projects(Right.READ)
    if slug not in ("", *projects) or not (projects or sign_in.is_valid()):
        return None
    return _selected_projects(projects, slug)


def _selected_projects(projects: Mapping[str, int], slug: str) -> frozenset[int]:
    if slug and slug not in projects:
        raise Fault(404, "not_found", "no such project")
    return frozenset([projects[slug]] if slug else projects.values())


def _no_access() -> Fault:
    challenge = 'Bearer realm="loopscope"'
    message = "a bearer token with scope read is required"
    return Fault(401, "unauthorized", message, www_authenticate=challenge)
