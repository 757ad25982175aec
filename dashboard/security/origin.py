"""Checks of the Host and Origin headers: ASGI middleware around the routes.

Channels' `AllowedHostsOriginValidator` compares host names only: a page on any port of this machine could
open our sockets with the user's cookie, because browsers send cookies to every port. It also ignores the
`Host` header, which Django checks for pages only. Hence these two checks (docs/adr/0027).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import OriginValidator  # type: ignore[import-untyped]  # ships no types
from django.conf import settings
from django.http.request import split_domain_port, validate_host

from recorder.asgi.scope import Headers, Receive, Scope, Send
from recorder.asgi.socket_consumer import SocketConsumer
from recorder.ingest.http.response import reply

Application = Callable[[Scope, Receive, Send], Awaitable[None]]
REFUSED = 4403


class SocketDenier(SocketConsumer):
    """Refuses every connection: the handshake by status 403, or `after_accept` the socket by code 4403."""

    def __init__(self, *, after_accept: bool = False) -> None:
        super().__init__()
        self._after_accept = after_accept

    async def connect(self) -> None:
        """Refuse the connection."""
        if self._after_accept:
            await self.accept()
        await self.close(REFUSED)


class AllowedHostValidator:
    """Refuses connections whose `Host` is not in ALLOWED_HOSTS, against DNS rebinding."""

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if host_allowed(scope["headers"]):
            await self.application(scope, receive, send)
        elif scope["type"] == "websocket":
            await SocketDenier.as_asgi()(scope, receive, send)
        else:
            await reply(send, 400, {"code": "bad_host", "message": "this host is not allowed"})


class SameOriginValidator(OriginValidator):  # type: ignore[misc]  # Channels ships no types
    """Channels' validator with one allowed origin: scheme, host and port of the request itself."""

    def __init__(self, application: Application) -> None:
        super().__init__(application, settings.ALLOWED_HOSTS)
        self.denier: Application = SocketDenier.as_asgi()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        served = self.application if self.is_allowed(scope) else self.denier
        await served(scope, receive, send)

    def is_allowed(self, scope: Scope) -> bool:
        """Whether a page of this site opened the socket."""
        return origin_allowed(scope)


class AgentOriginValidator(SameOriginValidator):
    """Accepts agents, which send no `Origin`, and pages of this site. Others get close code 4403.

    A client sees a close code only after the handshake, so a refusal completes it first.
    """

    def __init__(self, application: Application) -> None:
        super().__init__(application)
        self.denier = SocketDenier.as_asgi(after_accept=True)

    def is_allowed(self, scope: Scope) -> bool:
        """Whether there is no `Origin`, or that of this site."""
        return all(name != b"origin" for name, _ in scope["headers"]) or origin_allowed(scope)


def host_allowed(headers: Headers) -> bool:
    """Whether the `Host` of a request is allowed; another name may be due to DNS rebinding."""
    hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
    return len(hosts) == 1 and validate_host(split_domain_port(hosts[0])[0], settings.ALLOWED_HOSTS)


def origin_allowed(scope: dict[str, Any]) -> bool:
    """Whether scheme, host and port of the `Origin` are those of the request."""
    headers = [(name, value.decode("latin-1")) for name, value in scope["headers"]]
    origins = [value for name, value in headers if name == b"origin"]
    hosts = [value for name, value in headers if name == b"host"]
    if len(origins) != 1 or len(hosts) != 1 or not host_allowed(scope["headers"]):
        return False
    scheme = "https" if _is_secure(scope, headers) else "http"
    return _place(origins[0]) == _place(f"{scheme}://{hosts[0]}") is not None


def _is_secure(scope: dict[str, Any], headers: list[tuple[bytes, str]]) -> bool:
    trusted: tuple[str, str] | None = settings.SECURE_PROXY_SSL_HEADER
    if trusted:
        name = trusted[0].removeprefix("HTTP_").replace("_", "-").lower().encode()
        return any(key == name and value == trusted[1] for key, value in headers)
    return scope.get("scheme") in ("https", "wss")


def _place(address: str) -> tuple[str, str, int] | None:
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path or parts.query:
        return None
    return parts.scheme, parts.hostname, port or (443 if parts.scheme == "https" else 80)
