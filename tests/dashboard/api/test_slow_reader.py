"""Long responses of a real server: sent as fast as the reader reads, never buffered whole."""

import json
import select
import socket
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tests.support.server import Server
from tests.support.small_loop import Loop

pytestmark = pytest.mark.slow

LINE, LINES = 400_000, 120
GROWS_KB = 20_000  # of 48 MB


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("server"), LOOPSCOPE_SILENCE_S="2")
    server.start()
    loop = Loop("s")
    post(server, [loop.start(), loop.turn()])
    for n in range(0, LINES, 12):
        post(server, [loop.tool(f"c{n + k}", command="x" * LINE) for k in range(12)])
    yield server
    server.stop()


def post(server, events):
    body = "\n".join(map(json.dumps, events)).encode()
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/x-ndjson"}
    with urlopen(Request(f"{server.url}/ingest/v1/events", body, headers)) as response:
        assert json.load(response)["accepted"] == len(events)


def rss_kb(server):
    status = Path(f"/proc/{server.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def request_events(server):
    """Send a request for all events; return the unread socket."""
    connection = socket.create_connection(("127.0.0.1", server.port))
    connection.sendall(
        f"GET /api/v1/sessions/s/events HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        f"Authorization: Bearer {server.token}\r\nConnection: close\r\n\r\n".encode()
    )
    return connection


def test_events_are_not_buffered_for_a_reader_that_does_not_read(server):
    for _ in range(2):
        with request_events(server) as connection, connection.makefile("rb") as response:
            assert sum(map(len, iter(lambda: response.read(65_536), b""))) > LINE * LINES
    before = rss_kb(server)
    with request_events(server) as connection:
        connection.recv(1000)
        with urlopen(f"{server.url}/healthz") as health:  # others are served meanwhile
            assert health.status == 200
        poll = select.poll()
        poll.register(connection, select.POLLERR)
        assert poll.poll(20_000)
    assert rss_kb(server) - before < GROWS_KB
