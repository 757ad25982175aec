"""Socket routing: the consumer and the middleware of each path."""

import pytest
from channels.auth import AuthMiddleware
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.routing import ProtocolTypeRouter, URLRouter, get_default_application
from channels.security.websocket import OriginValidator
from channels.sessions import CookieMiddleware, SessionMiddleware
from django.urls import Resolver404

from dashboard.live.consumers import PageConsumer
from dashboard.routing import application
from dashboard.security.origin import (
    AgentOriginValidator,
    AllowedHostValidator,
    SameOriginValidator,
    SocketDenier,
)
from recorder.ingest.websocket.consumers import IngestConsumer
from tests.dashboard.open_page import ORIGIN, socket
from tests.support.wait import LONGEST_S


def routed(path):
    """Return the consumer at the address of a socket, and the middleware around it, the outermost first."""
    layers, inner = [], application.application_mapping["websocket"]
    while not hasattr(inner, "consumer_class"):
        layers.append(type(inner))
        if isinstance(inner, URLRouter):
            inner = next(route.callback for route in inner.routes if matches(route, path))
        else:
            inner = inner.application if hasattr(inner, "application") else inner.inner
    return inner.consumer_class, layers


def matches(route, path):
    try:
        return route.pattern.match(path.removeprefix("/")) is not None
    except Resolver404:
        return False


def test_the_server_serves_channels_routers():
    assert get_default_application() is application
    assert isinstance(application, ProtocolTypeRouter)
    assert isinstance(application.application_mapping["http"], URLRouter)


@pytest.mark.parametrize(
    ("path", "consumer", "layers"),
    [
        ("/ingest/v1/ws", IngestConsumer, [AgentOriginValidator]),
        (
            "/p/default/live/session",
            PageConsumer,
            [SameOriginValidator, CookieMiddleware, SessionMiddleware, AuthMiddleware],
        ),
        ("/p/default/live", SocketDenier, []),
        ("/ingest/v1/ws/more", SocketDenier, []),
        ("/", SocketDenier, []),
    ],
)
def test_a_socket_is_a_channels_consumer_behind_channels_middleware(path, consumer, layers):
    assert routed(path) == (consumer, [AllowedHostValidator, URLRouter, *layers])
    assert issubclass(consumer, AsyncWebsocketConsumer)


@pytest.mark.parametrize("validator", [SameOriginValidator, AgentOriginValidator])
def test_the_origin_validators_derive_from_channels(validator):
    assert issubclass(validator, OriginValidator)


@pytest.mark.parametrize("path", ["/", "/nowhere", "/p/default/live", "/p/a%0ab/live/sessions", "/healthz"])
async def test_a_socket_at_an_unknown_path_is_refused(path):
    assert await socket(path, ORIGIN).connect(timeout=LONGEST_S) == (False, 4403)


@pytest.mark.parametrize("path", ["/ingest/v1/ws", "/p/default/live/sessions"])
async def test_a_socket_with_a_foreign_host_is_refused(path):
    foreign = socket(path)
    foreign.scope["headers"] = [(b"host", b"evil.example"), (b"origin", b"http://evil.example")]

    assert await foreign.connect(timeout=LONGEST_S) == (False, 4403)
