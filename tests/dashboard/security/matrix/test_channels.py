"""The routes that Channels serves: ingest, streams and sockets, by role and method; and the API behind it."""

from time import monotonic

import pytest
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator
from django.contrib.auth.models import User

from dashboard.asgi import application
from dashboard.pages.registry import LIVE_PAGES, LIVE_RIGHTS
from dashboard.routing import http_urlpatterns, websocket_urlpatterns
from dashboard.server import health
from recorder.access.rights import Right
from tests.dashboard.open_page import HOST, ORIGIN, leave_thread, socket
from tests.dashboard.security.matrix.people import people
from tests.dashboard.security.matrix.records import Records
from tests.dashboard.security.matrix.table import (
    ANYONE,
    CHANNEL_ROUTES,
    ENDPOINTS,
    SOCKET_ROUTES,
    SOCKETS,
    rows_of,
)
from tests.support.wait import LONGEST_S

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
TABLE_FILE = "tests/dashboard/security/matrix/table.py"
JSON = (b"content-type", b"application/json")


@pytest.fixture
def world(transactional_db, monkeypatch):
    """Return two projects with their records, and everybody."""
    # Else `/readyz` waits a second for the first check of a server, for each stranger and method.
    monkeypatch.setattr(health, "_last", health.Check("", monotonic()))
    first, second = Records("first", "kestrel7"), Records("second", "obsidian9")
    root = User.objects.create_superuser("root")
    yield first, second, people(first.project, second.project, "owner-kestrel7", root)
    leave_thread()


def credentials(person):
    """Return the headers by which a person or a token is known."""
    bearer = person.client.defaults.get("HTTP_AUTHORIZATION")
    cookies = "; ".join(f"{each.key}={each.value}" for each in person.client.cookies.values())
    given = ((b"authorization", bearer), (b"cookie", cookies))
    return [(name, value.encode()) for name, value in given if value]


@async_to_sync
async def request(person, method, path, query=b""):
    """Send a request; return its status and the first part of the answer."""
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
        "headers": [HOST, JSON, *credentials(person)],
        "http_version": "1.1",
        "scheme": "http",
        "client": ("127.0.0.1", 50000),
    }
    communicator = ApplicationCommunicator(application, scope)
    await communicator.send_input({"type": "http.request", "body": b"{}"})
    start = await communicator.receive_output(LONGEST_S)
    body = (await communicator.receive_output(LONGEST_S)).get("body", b"")
    await communicator.send_input({"type": "http.disconnect"})
    await communicator.wait(LONGEST_S)
    return start["status"], body.decode(errors="replace")


def test_every_route_of_channels_has_a_row():
    assert {str(route.pattern) for route in http_urlpatterns} == set(CHANNEL_ROUTES), TABLE_FILE
    assert {str(route.pattern) for route in websocket_urlpatterns} == set(SOCKET_ROUTES), TABLE_FILE
    assert set(LIVE_PAGES) == set(SOCKETS), TABLE_FILE


def refusal(person, right):
    """Return the status of a person who has not the right."""
    if person.scopes:
        return 403
    if right == Right.INGEST or not person.is_signed_in:
        return 401
    return 404 if person.role is None else 403


def test_everybody_gets_the_answer_of_the_table(world):
    """One test of all routes: to record the world takes longer than the requests of one."""
    first, second, everybody = world
    wrong = {}
    for route in filter(CHANNEL_ROUTES.get, CHANNEL_ROUTES):
        path = "/" + route.replace("<slug:slug>", "first")
        query = b"project=first" if route == "api/v1/lifecycle" else b""
        for person in everybody:
            for method in METHODS:
                right = CHANNEL_ROUTES[route].get(method)
                status, body = request(person, method, path, query)
                if status not in expected(person, right):
                    wrong[f"{person.name} {method} {route}"] = status, body[:200]
                if right is not None and not may(person, right):
                    assert first.word not in body, route
                assert second.word not in body, route
    assert wrong == {}, f"expected otherwise by {TABLE_FILE}"


def may(person, right):
    return person.has(right) and (right != Right.INGEST or person.scopes is not None)


def expected(person, right):
    """Return the statuses that a person may get; the right is None for a method that a route has not."""
    if right is None:
        return {405}
    if may(person, right):
        return {200, 503} if right == ANYONE else {200}
    return {refusal(person, right)}


def test_the_server_passes_every_method_of_the_api_on(world):
    anonymous = world[2][0]
    wrong = {}
    for route in ENDPOINTS:
        known = {method for row in rows_of(route) for method in row.rights}
        path = "/" + route.replace("<path:rest>", "unknown").replace("<path:session_id>", "s")
        for method in METHODS if known and route != "api/v1/<path:rest>" else ():
            status, _ = request(anonymous, method, path.replace("<pk>", "1").replace("<name>", "n"))
            if status != (401 if method in known else 405):
                wrong[f"{method} {route}"] = status
    assert wrong == {}


async def connect(person, path):
    """Open a socket; return None if it was accepted and stays open, else the code of the refusal."""
    connection = socket(path, ORIGIN, *credentials(person))
    connected, code = await connection.connect(timeout=LONGEST_S)
    if connected and path.startswith("/ingest/"):
        await connection.send_to(text_data='{"op":"hello","v":1,"producer":"p"}')
    if connected:  # a page learns after the handshake that its access has ended
        message = await connection.receive_output(LONGEST_S)
        connected, code = message["type"] == "websocket.send", message.get("code")
    await connection.disconnect(timeout=LONGEST_S)
    return None if connected else code


async def test_everybody_opens_the_sockets_of_the_table_and_no_others(world):
    first, _, everybody = world
    wrong = {}
    for person in everybody:
        for page, query in SOCKETS.items():
            path = f"/p/first/live/{page}?{query.format(**first.names)}"
            code = await connect(person, path)
            may = person.scopes is None and person.has(LIVE_RIGHTS[page])
            if code != (None if may else 4401):
                wrong[f"{person.name} {page}"] = code
        code = await connect(person, "/ingest/v1/ws")
        may = person.scopes is not None and person.has(Right.INGEST)
        if code != (None if may else 4403 if person.scopes else 4401):
            wrong[f"{person.name} ingest"] = code
        assert await connect(person, "/unknown") == 4403
    assert wrong == {}


async def test_a_socket_shows_no_record_of_another_project(world):
    _, second, everybody = world
    admin = next(each for each in everybody if each.name == "admin")
    for page in ("session", "evaluation", "compaction"):
        path = f"/p/first/live/{page}?{SOCKETS[page].format(**second.names)}"
        assert await connect(admin, path) == 4403
