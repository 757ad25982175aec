"""All ASGI routes: sockets, and the HTTP paths that are not Django's (`urls.py` has those).

An HTTP path is here if it streams, gets many requests a second, or must answer while Django cannot. Errors of
paths that programs use are JSON.
"""

from __future__ import annotations

import re
from typing import Any

from channels.auth import AuthMiddlewareStack  # type: ignore[import-untyped]  # ships no types
from channels.routing import ProtocolTypeRouter, URLRouter  # type: ignore[import-untyped]
from channels.sessions import CookieMiddleware  # type: ignore[import-untyped]
from django.core.asgi import get_asgi_application
from django.urls import path, re_path

from dashboard.lifecycle.sse_endpoint import lifecycle
from dashboard.live.consumers import PageConsumer
from dashboard.pages.attention.sse_feed import feed
from dashboard.pages.registry import LIVE_PAGES, LIVE_RIGHTS, SHARED_PAGES
from dashboard.pages.share.live import SharedPageConsumer
from dashboard.security.origin import (
    AgentOriginValidator,
    AllowedHostValidator,
    Application,
    SameOriginValidator,
    SocketDenier,
)
from dashboard.server import health, waiting_spans
from recorder.asgi.scope import Receive, Scope, Send, header
from recorder.ingest.events.endpoint import ingest_http
from recorder.ingest.http.response import Fault, note_fault, reply
from recorder.ingest.otlp.endpoint import PROTOBUF, SIGNALS, otlp_grpc, otlp_http, with_authorization
from recorder.ingest.websocket.consumers import IngestConsumer

django: Any = get_asgi_application()
# Methods of the paths of the API that write; all others are read.
WRITE_METHODS = {
    re.compile(r"/api/v1/(notes|scores|views)\Z"): ("GET", "HEAD", "POST"),
    re.compile(r"/api/v1/(notes|views)/[^/]+\Z"): ("PATCH", "DELETE"),
    re.compile(r"/api/v1/scores/[^/]+\Z"): ("DELETE",),
}


async def pages(scope: Scope, receive: Receive, send: Send) -> None:
    """Pass a request to Django when the spans acknowledged before it are read, or after a moment.

    Spans that are sent to a page are refused here: Django would answer that a CSRF token is missing.
    """
    if scope["method"] == "POST" and header(scope["headers"], b"content-type") == PROTOBUF:
        await not_found(scope, receive, send)
        return
    behind = await waiting_spans.behind(scope)
    await django({**scope, waiting_spans.IN_SCOPE: behind}, receive, send)


async def upgrade_required(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a plain request to the WebSocket endpoint."""
    message = "this path requires a WebSocket handshake"
    await reply(send, 426, {"code": "bad_method", "message": message}, upgrade="websocket")


async def read_api(scope: Scope, receive: Receive, send: Send) -> None:
    """Pass the methods of a path to Django, HEAD as GET: the server omits the body. Others are a 405."""
    methods = next((m for path, m in WRITE_METHODS.items() if path.match(scope["path"])), ("GET", "HEAD"))
    if scope["method"] not in methods:
        message = f"this endpoint only supports {' and '.join(methods)}"
        await reply(send, 405, {"code": "bad_method", "message": message}, allow=", ".join(methods))
    elif scope["method"] in ("GET", "HEAD"):
        behind = await waiting_spans.behind(scope)
        await django({**scope, "method": "GET"}, receive, waiting_spans.with_header(send, behind))
    else:
        await django(scope, receive, send)


async def not_found(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer 404 as JSON; a sender that has a wrong URL learns the right one."""
    fault = Fault(404, "not_found", f"No endpoint {scope['path']}.{_meant(scope)}")
    await note_fault({**scope, "headers": with_authorization(scope["headers"])}, fault)
    await reply(send, 404, fault.body)


def _meant(scope: Scope) -> str:
    """Return which URL a sender of spans has to be given, "" for other requests."""
    media = header(scope["headers"], b"content-type") or ""
    is_span = scope["method"] == "POST" and (media == PROTOBUF or "/v1/traces" in scope["path"])
    return " Spans are sent to /v1/traces, log records to /v1/logs." if is_span else ""


def _route(application: Application) -> Any:
    """Return an application as Any, because Channels reuses path(), whose stubs only know views."""
    return application


def _with_host_check(application: Application) -> Any:
    """Check the host first."""
    return _route(AllowedHostValidator(application))


# `(?s)`: a path may contain a line feed.
http_urlpatterns = [
    path("ingest/v1/events", _with_host_check(ingest_http)),
    path("ingest/v1/ws", _with_host_check(upgrade_required)),
    *(
        path(f"{under}v1/{signal}{slash}", _with_host_check(otlp_http))
        for under in ("", "otlp/")
        for signal in SIGNALS
        for slash in ("", "/")
    ),
    re_path(r"^opentelemetry\.proto\.collector\.", _with_host_check(otlp_grpc)),
    path("healthz", _with_host_check(health.alive)),
    path("readyz", _with_host_check(health.ready)),
    path("api/v1/lifecycle", _with_host_check(CookieMiddleware(lifecycle))),
    path("p/<slug:slug>/attention/feed", _with_host_check(CookieMiddleware(feed))),
    re_path(r"(?s)^api/v1/.", _with_host_check(read_api)),
    re_path(r"^(?:ingest|api|otlp|v1)(?:/|\Z)", _with_host_check(not_found)),
    re_path(r"", _route(pages)),
]
page_consumer = PageConsumer.as_asgi(pages=LIVE_PAGES, rights=LIVE_RIGHTS)
shared_page_consumer = SharedPageConsumer.as_asgi(pages=SHARED_PAGES, rights={})
websocket_urlpatterns = [
    path("ingest/v1/ws", AgentOriginValidator(IngestConsumer.as_asgi())),
    path("p/<slug:slug>/live/<slug:page>", SameOriginValidator(AuthMiddlewareStack(page_consumer))),
    path(
        "s/<secret:secret>/live/<slug:page>",
        SameOriginValidator(CookieMiddleware(shared_page_consumer)),
    ),
    re_path(r"", SocketDenier.as_asgi()),  # a router without a match raises, and logs a traceback
]
application = ProtocolTypeRouter(
    {
        "http": URLRouter(http_urlpatterns),
        "websocket": AllowedHostValidator(URLRouter(websocket_urlpatterns)),
    }
)
