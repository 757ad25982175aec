"""The server as people start it: real sockets, real close codes, a clean stop."""

import json
import signal
import socket
import struct
import subprocess
import sys
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from tests.support.build import agent_start, line
from tests.support.server import ROOT, Server

pytestmark = pytest.mark.slow

START_S, MEMORY_KB = 2.0, 130_000
FRAME = 4 * 1024 * 1024 + 64 * 1024


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    server = Server(folder, from_nothing=True, LOOPSCOPE_SILENCE_S="3", LOOPSCOPE_PING_S="1")
    server.start()
    yield server
    server.stop()


def client(server, token=None, **options):
    headers = {"Authorization": f"Bearer {server.token if token is None else token}"}
    url = server.url.replace("http", "ws") + "/ingest/v1/ws"
    return connect(url, additional_headers=headers, max_size=None, **options)


def shaken(server, instead=""):
    """Return the handshake of a client that sends by itself, with one header line of another value."""
    lines = (
        f"Host: 127.0.0.1:{server.port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        f"Authorization: Bearer {server.token}",
    )
    kept = [each for each in lines if each.split(":")[0] != instead.split(":")[0]]
    return "\r\n".join(["GET /ingest/v1/ws HTTP/1.1", *kept, *filter(None, [instead]), "\r\n"]).encode()


def closed(socket):
    """Return the code of the close frame that comes."""
    try:
        while True:
            socket.recv(timeout=20)
    except ConnectionClosed as gone:
        return gone.rcvd.code


def test_health_is_told_before_anyone_signs_in(server):
    for path in ("/healthz", "/readyz"):
        with urlopen(server.url + path) as answer:
            assert json.load(answer) == {"status": "ok"}


def test_it_says_where_it_is(server):
    said = json.loads((server.folder / "server.json").read_text())

    assert said == {"url": f"{server.url}/", "pid": server.pid}


def test_it_prints_a_way_in(server):
    assert f"{server.url}/signin/" in server.log()


def test_a_taken_port_is_refused_in_words(server):
    command = [sys.executable, "manage.py", "up", "--port", str(server.port)]
    done = subprocess.run(
        command, cwd=ROOT, env=server.environment, capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert f"Cannot listen on 127.0.0.1 port {server.port}: Address already in use" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_that_cannot_be_is_refused_in_words(server):
    command = [sys.executable, "manage.py", "up", "--port", "65536"]
    done = subprocess.run(
        command, cwd=ROOT, env=server.environment, capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert done.stderr.startswith("CommandError: Cannot listen on 127.0.0.1 port 65536: ")


def test_it_idles_in_little_memory(server):
    status = dict(each.split(":", 1) for each in Path(f"/proc/{server.pid}/status").read_text().splitlines())

    assert int(status["VmRSS"].split()[0]) < MEMORY_KB


def test_a_message_of_the_largest_size_is_taken(server):
    with client(server) as ingest:
        ingest.send("x" * FRAME)

        assert json.loads(ingest.recv())["code"] == "bad_frame"


def test_a_message_that_is_too_big_is_told_so(server):
    with client(server) as ingest:
        ingest.send("x" * (FRAME + 1))

        assert closed(ingest) == 1009


def test_a_message_that_is_not_utf_8_is_told_so(server):
    with client(server) as ingest:
        ingest.send(b"\xff\xfe", text=True)

        assert closed(ingest) == 1007


def test_a_binary_message_is_told_so(server):
    with client(server) as ingest:
        ingest.send(b"\x00")

        assert closed(ingest) == 1003


def test_an_unknown_token_sees_why(server):
    with client(server, "lsk_a_b") as ingest:
        assert closed(ingest) == 4401


@pytest.mark.parametrize("origin", ["null", "file://", "http://elsewhere.example"])
def test_a_page_of_another_site_sees_why(server, origin):
    with client(server, origin=origin) as ingest:
        assert closed(ingest) == 4403


@pytest.mark.parametrize("wrong", ["Sec-WebSocket-Version: 12", "Sec-WebSocket-Key: short", "Origin: x y"])
def test_a_handshake_that_is_none_is_refused_with_one_answer(server, wrong):
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as raw:
        raw.sendall(shaken(server, wrong))
        heard = b"".join(iter(lambda: raw.recv(4096), b""))

    assert heard.startswith(b"HTTP/1.1 400 ")
    assert heard.count(b"HTTP/1.1") == 1
    assert "Traceback" not in server.log()


@pytest.mark.parametrize("media", ["multipart/form-data", "multipart/form-data; boundary=x"])
def test_a_form_is_told_that_it_is_none_of_ours(server, media):
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": media}
    with pytest.raises(HTTPError) as refused:
        urlopen(Request(f"{server.url}/ingest/v1/events", data=b"{}", headers=headers))
    with refused.value as answer:
        assert (answer.code, json.load(answer)["code"]) == (415, "bad_media_type")


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_a_foreign_host_is_told_no_health(server, path):
    with pytest.raises(HTTPError) as refused:
        urlopen(Request(server.url + path, headers={"Host": "evil.example"}))
    with refused.value as answer:
        assert answer.code == 400


def test_a_client_that_answers_pings_may_be_quiet(server):
    with client(server) as ingest:
        ingest.send('{"op":"hello","v":1,"producer":"quiet"}')
        ingest.recv()
        with pytest.raises(TimeoutError):
            ingest.recv(timeout=5)


def test_a_client_that_answers_nothing_is_given_up(server):
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.sendall(shaken(server))
        raw.settimeout(20)
        heard = b""
        with suppress(ConnectionResetError):
            while part := raw.recv(4096):
                heard += part
        # A close frame with status 4408.
        assert b"\x88\x02\x11\x38" in heard


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", ""])
def test_a_foreign_host_opens_no_socket(server, host):
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.sendall(
            f"GET /ingest/v1/ws HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode()
        )
        raw.settimeout(20)
        assert b" 101 " not in raw.recv(4096).split(b"\r\n")[0]


def test_it_stops_well_and_what_it_acknowledged_is_there_again(tmp_path):
    server = Server(tmp_path)
    server.start()
    with client(server) as ingest:
        ingest.send('{"op":"hello","v":1,"producer":"p"}')
        ingest.recv()
        ingest.send('{"op":"events","first":0,"n":1}\n' + line(agent_start("s.a.1")).decode())
        assert json.loads(ingest.recv())["upto"] == 0
        begun = monotonic()
        server.signal(signal.SIGTERM)

        assert closed(ingest) == 1001
    assert server.wait() == 0
    assert monotonic() - begun < 5
    assert not (tmp_path / "server.json").exists()

    begun = monotonic()
    server.start()
    assert monotonic() - begun < 3 * START_S
    with client(server) as ingest:
        ingest.send('{"op":"hello","v":1,"producer":"p"}')
        assert json.loads(ingest.recv())["high_water"] == 0
    server.stop()


def test_who_asks_for_the_head_of_an_answer_gets_no_more(server):
    with urlopen(Request(f"{server.url}/healthz", method="HEAD")) as answer:
        assert answer.read() == b""
    with pytest.raises(HTTPError) as refused:
        urlopen(Request(f"{server.url}/api/v1/sessions", method="HEAD"))
    with refused.value as answer:
        assert (answer.code, answer.read()) == (401, b"")
        assert int(answer.headers["Content-Length"]) > 0


def test_pages_are_not_for_strangers(server):
    with pytest.raises(HTTPError) as refused, urlopen(server.url + "/api/v1/sessions"):
        pass
    assert refused.value.code == 401
    refused.value.close()


@pytest.mark.parametrize("path", ["/p/default/live/sessions", "/p/nobodys/live/sessions", "/nowhere"])
@pytest.mark.parametrize("is_ours", [True, False])
def test_page_sockets_are_not_for_strangers(server, path, is_ours):
    origin = server.url if is_ours else "http://elsewhere.example"
    with pytest.raises(InvalidStatus) as refused:
        connect(server.url.replace("http", "ws") + path, origin=origin)

    assert refused.value.response.status_code == 403
    assert "Traceback" not in server.log()


@contextmanager
def asking(server, path):
    """Ask for a page on a socket whose buffer holds little of it."""
    with socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.connect(("127.0.0.1", server.port))
        head = f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.token}\r\n\r\n"
        raw.sendall(head.encode())
        raw.settimeout(20)
        yield raw


@pytest.fixture(scope="module")
def long_answer(server):
    """Record 12 MB, more than lies between two sockets; return where they can be read, and what they are."""
    note = {"type": "Notice", "loop_id": "long.a.1", "kind": "warning", "severity": "info"}
    events = [agent_start("long.a.1"), *({**note, "text": str(n) * 150_000} for n in range(10, 50))]
    lines = [line(event) for event in events]
    agent = server.agent("long")
    for at in range(0, len(lines), 8):
        agent.send(*lines[at : at + 8])
    return "/api/v1/sessions/long/events", b"".join(each + b"\n" for each in lines)


def test_who_reads_slowly_is_told_all(server, long_answer):
    path, wanted = long_answer
    with asking(server, path) as raw:
        sleep(0.5)  # so that it cannot send all at once
        heard = b"".join(iter(partial(raw.recv, 16384), b""))

    assert heard.partition(b"\r\n\r\n")[2] == wanted


def test_who_leaves_in_the_middle_of_an_answer_harms_nobody(server, long_answer):
    path, wanted = long_answer
    for _ in range(20):
        with asking(server, path) as raw:
            raw.recv(3000)
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
    with asking(server, path) as raw:
        heard = b"".join(iter(partial(raw.recv, 65536), b""))

    assert heard.endswith(wanted)
    assert "Traceback" not in server.log()
