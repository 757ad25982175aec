"""What one client can cost the others: a flood, a trickle, a bomb, a page that reads nothing."""

import gzip
import json
import re
import socket
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from time import monotonic
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.nodes.nodes import Reader
from tests.support.build import agent_start, line
from tests.support.server import Server

pytestmark = pytest.mark.slow

MIB = 1024 * 1024
GROWTH_BYTES = 64 * MIB
FLOOD_BYTES = 120 * MIB
SLOW_S = 2
PAGE_BYTES = 4096  # of one frame from a page
REFUSED_AFTER_BYTES = 16 * MIB


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("server"), LOOPSCOPE_SLOW_S=str(SLOW_S))
    server.start()
    server.agent().send(agent_start("warm.a.1"))
    yield server
    server.stop()


def resident(server):
    status = Path(f"/proc/{server.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024


class Peak(Thread):
    """The most memory that the server held while something happened."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server = server
        self.before = self.most = resident(server)
        self.is_over = False

    def run(self):
        while not self.is_over:
            self.most = max(self.most, resident(self.server))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.join()

    @property
    def growth(self):
        return self.most - self.before


@contextmanager
def raw(server, *lines, timeout=20):
    with socket.create_connection(("127.0.0.1", server.port), timeout=timeout) as client:
        given = (f"{each}\r\n" for each in (*lines[:1], f"Host: 127.0.0.1:{server.port}", *lines[1:]))
        client.sendall("".join(given).encode())
        yield client


def heard(client):
    """Return all that comes until the connection ends."""
    found = b""
    with suppress(ConnectionResetError):
        while part := client.recv(65536):
            found += part
    return found


def pushed(client, most):
    """Send until the other side takes no more; return how much went."""
    part, sent = b"x" * 65536, 0
    with suppress(OSError):
        while sent < most:
            sent += client.send(part)
    return sent


def ingest(server, **options):
    headers = {"Authorization": f"Bearer {server.token}"}
    url = server.url.replace("http", "ws") + "/ingest/v1/ws"
    return connect(url, additional_headers=headers, max_size=None, compression=None, **options)


def test_a_flood_costs_little_memory_and_others_are_served(server):
    quiet = server.agent()
    with Peak(server) as peak, ingest(server) as flood:
        flood.socket.settimeout(2)
        frame = json.dumps({"op": "events", "first": 0, "n": 1}) + "\n" + "y" * (4 * MIB)
        sender = Thread(target=sent_until_it_ends, args=(flood, frame), daemon=True)
        sender.start()
        waits = []
        for number in range(20):
            begun = monotonic()
            quiet.send({"type": "Note", "n": number})
            waits.append(monotonic() - begun)
        sender.join(60)

    assert peak.growth < GROWTH_BYTES
    assert sorted(waits)[-2] < 5


def sent_until_it_ends(flood, frame):
    with suppress(ConnectionClosed, OSError):
        flood.send(json.dumps({"op": "hello", "v": 1, "producer": "flood"}))
        for _ in range(FLOOD_BYTES // len(frame)):
            flood.send(frame)


def test_no_byte_of_a_socket_is_read_before_its_token_is_known(server):
    with (
        Peak(server) as peak,
        raw(
            server,
            "GET /ingest/v1/ws HTTP/1.1",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
            "",
            timeout=5,
        ) as client,
    ):
        pushed(client, FLOOD_BYTES)

    assert peak.growth < REFUSED_AFTER_BYTES


def test_compression_is_never_agreed_on(server):
    url = server.url.replace("http", "ws") + "/ingest/v1/ws"
    with connect(url, additional_headers={"Authorization": f"Bearer {server.token}"}) as client:
        assert "Sec-WebSocket-Extensions" not in client.response.headers


def test_a_message_in_a_thousand_pieces_is_abuse(server):
    with ingest(server) as client:
        client.send('{"op":"hello","v":1,"producer":"pieces"}')
        client.recv()
        with suppress(ConnectionClosed):
            client.send("" for _ in range(5_000))
            client.recv(timeout=20)

        assert client.close_code == 4429


def test_what_no_page_says_ends_its_socket(server):
    with Reader(server).look() as page:
        page.next()
        page.say("x" * PAGE_BYTES)
        server.agent().send(agent_start("heard.a.1"))
        page.until(lambda body: "heard" in body)

        page.say("x" * (PAGE_BYTES + 1))
        with pytest.raises(ConnectionClosed) as ended:
            page.until(lambda _: False)

    assert ended.value.rcvd.code == 1009


@pytest.mark.parametrize("path", ["/ingest/v1/events", "/nothing", "/signin", "/api/v1/sessions"])
@pytest.mark.parametrize("length", [f"Content-Length: {FLOOD_BYTES}", "Transfer-Encoding: chunked"])
def test_a_stranger_cannot_upload(server, path, length):
    with raw(server, f"POST {path} HTTP/1.1", length, "", timeout=5) as client:
        if "chunked" in length:
            client.sendall(b"%x\r\n" % FLOOD_BYTES)
        sent = pushed(client, FLOOD_BYTES)
        client.settimeout(5)
        answer = heard(client)

    assert sent < REFUSED_AFTER_BYTES
    assert not answer or answer.split(b" ")[1] in (b"401", b"413")


@pytest.mark.parametrize("path", ["/ingest/v1/events", "/signin"])
def test_a_stranger_who_announces_much_hears_why_not_before_sending_it(server, path):
    with raw(server, f"POST {path} HTTP/1.1", f"Content-Length: {FLOOD_BYTES}", "") as client:
        answer = heard(client)

    assert answer.startswith(b"HTTP/1.1 401 " if "ingest" in path else b"HTTP/1.1 413 ")


def test_a_body_over_the_limit_is_told_so(server):
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/x-ndjson"}
    with raw(
        server,
        "POST /ingest/v1/events HTTP/1.1",
        *(f"{name}: {value}" for name, value in headers.items()),
        f"Content-Length: {8 * MIB + 1}",
        "",
    ) as client:
        client.sendall(b"x" * (8 * MIB + 1))
        status, _, body = heard(client).partition(b"\r\n")

    assert status == b"HTTP/1.1 413 Request Entity Too Large"
    assert b'{"code":"too_large"' in body


def test_a_body_of_the_largest_size_is_taken(server):
    event = line(agent_start("big.a.1"))
    body = event + b"\n" + b" " * (8 * MIB - len(event) - 1)
    answer = post(server, body)

    assert answer["accepted"] == 1


def test_a_bomb_is_refused_and_costs_little(server):
    bomb = gzip.compress(b"\0" * (48 * MIB))
    with Peak(server) as peak, pytest.raises(HTTPError) as refused:
        post(server, bomb, content_encoding="gzip")

    assert refused.value.code == 413
    assert peak.growth < GROWTH_BYTES
    refused.value.close()


def post(server, body, **more):
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/x-ndjson"}
    headers |= {name.replace("_", "-"): value for name, value in more.items()}
    request = Request(f"{server.url}/ingest/v1/events", body, headers, method="POST")
    with urlopen(request, timeout=60) as answer:
        return json.load(answer)


def test_headers_that_trickle_are_given_up(server):
    begun = monotonic()
    with raw(server, "GET / HTTP/1.1", "X-Slow: yes") as client:
        client.settimeout(0.2)
        answer = b""
        while not answer and monotonic() - begun < 4 * SLOW_S + 5:
            client.sendall(b"X-More: 1\r\n")
            with suppress(TimeoutError):
                answer = client.recv(4096)

    assert answer.startswith(b"HTTP/1.1 408 ")


def test_a_body_that_trickles_is_given_up(server):
    begun = monotonic()
    with raw(server, "POST /signin HTTP/1.1", "Content-Length: 50000", "") as client:
        client.settimeout(0.2)
        answer = b""
        while not answer and monotonic() - begun < 4 * SLOW_S + 5:
            client.sendall(b"x")
            with suppress(TimeoutError):
                answer = client.recv(4096)

    assert answer.startswith(b"HTTP/1.1 408 ")


def test_a_connection_that_says_nothing_is_closed(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:
        assert client.recv(1) == b""


def test_a_kept_connection_serves_many_requests(server):
    ask = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:
        client.sendall(ask * 3)
        answers = b""
        while answers.count(b'{"status":"ok"}') < 3:
            answers += client.recv(4096)
        client.sendall(ask)
        assert client.recv(4096).startswith(b"HTTP/1.1 200 ")
