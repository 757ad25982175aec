"""Where a request goes: ingest doors, page sockets and health are plain ASGI, everything else is Django's.

Programs are told in JSON what is not there or not done.
"""

from __future__ import annotations

import asyncio
import os
import re

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
pages = get_asgi_application()

from dashboard.lifecycle.sse_endpoint import lifecycle  # noqa: E402
from dashboard.live.page_socket import page_socket  # noqa: E402
from dashboard.pages.attention.sse_feed import feed  # noqa: E402
from dashboard.pages.registry import LIVE_PAGES  # noqa: E402
from dashboard.security.access import host_allowed, origin_allowed  # noqa: E402  Django first
from recorder.database.errors import Busy  # noqa: E402
from recorder.ingest.auth import Receive, Scope, Send  # noqa: E402
from recorder.ingest.http import ingest_http, reply  # noqa: E402
from recorder.ingest.websocket import ingest_socket  # noqa: E402
from recorder.ingest.writer import writer  # noqa: E402

PAGE_SOCKET = re.compile(r"/p/(?P<slug>[-\w]+)/live/(?P<page>[a-z]+)", re.ASCII)
FEED = re.compile(r"/p/(?P<slug>[-\w]+)/attention/feed", re.ASCII)
OURS = re.compile(r"/healthz|/readyz|/(?:ingest|api)(?:/.*)?", re.ASCII | re.DOTALL)  # spoken to in JSON
READ_API = re.compile(r"/api/v1/.+", re.DOTALL)
COMMIT_S = 1.0
OLDEST_S = 30.0


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """The ASGI application."""
    if scope["type"] == "http":
        await _http(scope, receive, send)
    elif scope["type"] == "websocket":
        await _socket(scope, receive, send)


async def _http(scope: Scope, receive: Receive, send: Send) -> None:
    fed = FEED.fullmatch(scope["path"])
    match scope["path"]:
        case path if (OURS.fullmatch(path) or fed) and not host_allowed(scope["headers"]):
            await reply(send, 400, {"code": "bad_host", "message": "this host is not allowed here"})
        case "/healthz":
            await reply(send, 200, {"status": "ok"})
        case "/readyz":
            await _ready(send)
        case "/api/v1/lifecycle":
            await lifecycle(scope, receive, send)
        case "/ingest/v1/events":
            await ingest_http(scope, receive, send)
        case "/ingest/v1/ws":
            message = "this door is opened by a WebSocket handshake"
            await reply(send, 426, {"code": "bad_method", "message": message}, upgrade="websocket")
        case path if READ_API.fullmatch(path):
            await _read_api(scope, receive, send)
        case path if OURS.fullmatch(path):
            await reply(send, 404, {"code": "not_found", "message": f"There is no {path}."})
        case _ if fed:
            await feed(scope, receive, send, fed["slug"])
        case _:
            await pages(scope, receive, send)


async def _read_api(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a reader; whoever asks for the head alone is sent that alone by the server."""
    if scope["method"] not in ("GET", "HEAD"):
        body = {"code": "bad_method", "message": "the read API is read, by GET or HEAD"}
        await reply(send, 405, body, allow="GET, HEAD")
    else:
        await pages({**scope, "method": "GET"}, receive, send)


async def _socket(scope: Scope, receive: Receive, send: Send) -> None:
    page = PAGE_SOCKET.fullmatch(scope["path"])
    if not host_allowed(scope["headers"]):
        await _refuse(receive, send)
    elif scope["path"] == "/ingest/v1/ws":
        if _is_foreign(scope):
            await _refuse(receive, send, accept=True)
        else:
            await ingest_socket(scope, receive, send)
    elif page is not None:
        routed = {**scope, "url_route": {"args": (), "kwargs": page.groupdict()}}
        await page_socket(LIVE_PAGES, routed, receive, send)
    else:
        await _refuse(receive, send)


def _is_foreign(scope: Scope) -> bool:
    """Say whether a page of another site asks; programs send no origin."""
    return any(name == b"origin" for name, _ in scope["headers"]) and not origin_allowed(scope)


async def _refuse(receive: Receive, send: Send, *, accept: bool = False) -> None:
    """Close with 4403; a client sees the code only after the handshake, otherwise it sees status 403."""
    await receive()
    if accept:
        await send({"type": "websocket.accept"})
    await send({"type": "websocket.close", "code": 4403})


async def _ready(send: Send) -> None:
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
