"""The server of `manage.py up`: real sockets, close codes, a graceful stop."""

import json
import signal
import socket
import struct
import subprocess
import sys
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from time import sleep
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from django.core.management import CommandError, call_command
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from tests.support.build import agent_start, line
from tests.support.server import ROOT, Server
from tests.support.wait import LONGEST_S

pytestmark = pytest.mark.slow

MEMORY_KB = 130_000
LONGER_S = 5  # than the 3 s of silence after which the server closes
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


def handshake(server, instead=""):
    """Return the bytes of a WebSocket handshake, with one header line replaced by `instead`."""
    lines = (
        f"Host: 127.0.0.1:{server.port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        f"Authorization: Bearer {server.token}",
    )
    others = [each for each in lines if each.split(":")[0] != instead.split(":")[0]]
    return "\r\n".join(["GET /ingest/v1/ws HTTP/1.1", *others, *filter(None, [instead]), "\r\n"]).encode()


def closed(socket):
    """Receive until the close frame; return its code."""
    try:
        while True:
            socket.recv(timeout=LONGEST_S)
    except ConnectionClosed as closing:
        return closing.rcvd.code


def test_health_endpoints_need_no_sign_in(server):
    for path in ("/healthz", "/readyz"):
        with urlopen(server.url + path) as response:
            assert json.load(response) == {"status": "ok"}


def test_server_json_has_the_url_and_the_process_id(server):
    written = json.loads((server.folder / "server.json").read_text())

    assert written == {"url": f"{server.url}/", "pid": server.pid}


def test_a_sign_in_link_is_printed(server):
    assert f"{server.url}/signin/" in server.log()


def test_a_port_in_use_is_a_plain_error(server):
    command = [sys.executable, "manage.py", "up", "--port", str(server.port)]
    done = subprocess.run(
        command, cwd=ROOT, env=server.environment, capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert f"Cannot listen on 127.0.0.1 port {server.port}: Address already in use" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_invalid_port_is_a_plain_error(server):
    command = [sys.executable, "manage.py", "up", "--port", "65536"]
    done = subprocess.run(
        command, cwd=ROOT, env=server.environment, capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert done.stderr.startswith("CommandError: Cannot listen on 127.0.0.1 port 65536: ")


@pytest.mark.parametrize("host", ["nonsense.invalid", "ü..invalid"])
def test_a_host_without_an_address_is_a_plain_error(host):
    with pytest.raises(CommandError) as refused:
        call_command("up", "--host", host)

    assert str(refused.value).startswith(f"Cannot listen on {host}: ")
    assert str(refused.value).endswith(". Choose another with --host.")
    assert "Unknown error" not in str(refused.value)


def test_an_idle_server_uses_little_memory(server):
    status = dict(each.split(":", 1) for each in Path(f"/proc/{server.pid}/status").read_text().splitlines())

    assert int(status["VmRSS"].split()[0]) < MEMORY_KB


def test_a_message_of_the_maximum_size_is_received(server):
    with client(server) as ingest:
        ingest.send("x" * FRAME)

        assert json.loads(ingest.recv())["code"] == "bad_frame"


def test_a_message_over_the_maximum_size_is_closed_with_1009(server):
    with client(server) as ingest:
        ingest.send("x" * (FRAME + 1))

        assert closed(ingest) == 1009


def test_a_text_message_that_is_not_utf_8_is_closed_with_1007(server):
    with client(server) as ingest:
        ingest.send(b"\xff\xfe", text=True)

        assert closed(ingest) == 1007


def test_a_binary_message_is_closed_with_1003(server):
    with client(server) as ingest:
        ingest.send(b"\x00")

        assert closed(ingest) == 1003


def test_an_unknown_token_is_closed_with_4401(server):
    with client(server, "lsk_a_b") as ingest:
        assert closed(ingest) == 4401


@pytest.mark.parametrize("origin", ["null", "file://", "http://elsewhere.example"])
def test_a_foreign_origin_is_closed_with_4403(server, origin):
    with client(server, origin=origin) as ingest:
        assert closed(ingest) == 4403


@pytest.mark.parametrize("wrong", ["Sec-WebSocket-Version: 12", "Sec-WebSocket-Key: short", "Origin: x y"])
def test_an_invalid_handshake_gets_exactly_one_response(server, wrong):
    with socket.create_connection(("127.0.0.1", server.port), timeout=LONGEST_S) as raw:
        raw.sendall(handshake(server, wrong))
        received = b"".join(iter(lambda: raw.recv(4096), b""))

    assert received.startswith(b"HTTP/1.1 400 ")
    assert received.count(b"HTTP/1.1") == 1
    assert "Traceback" not in server.log()


@pytest.mark.parametrize("media", ["multipart/form-data", "multipart/form-data; boundary=x"])
def test_a_form_posted_to_ingest_is_a_bad_media_type(server, media):
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": media}
    with pytest.raises(HTTPError) as refused:
        urlopen(Request(f"{server.url}/ingest/v1/events", data=b"{}", headers=headers))
    with refused.value as response:
        assert (response.code, json.load(response)["code"]) == (415, "bad_media_type")


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_endpoints_refuse_a_foreign_host(server, path):
    with pytest.raises(HTTPError) as refused:
        urlopen(Request(server.url + path, headers={"Host": "evil.example"}))
    with refused.value as response:
        assert response.code == 400


def test_a_client_that_answers_pings_is_not_silent(server):
    with client(server) as ingest:
        ingest.send('{"op":"hello","v":1,"producer":"quiet"}')
        ingest.recv()
        with pytest.raises(TimeoutError):
            ingest.recv(timeout=LONGER_S)


def test_a_client_that_answers_no_ping_is_closed_with_4408(server):
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.sendall(handshake(server))
        raw.settimeout(20)
        received = b""
        with suppress(ConnectionResetError):
            while part := raw.recv(4096):
                received += part
        # A close frame with status 4408.
        assert b"\x88\x02\x11\x38" in received


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", ""])
def test_a_foreign_host_cannot_open_a_socket(server, host):
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.sendall(
            f"GET /ingest/v1/ws HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode()
        )
        raw.settimeout(20)
        assert b" 101 " not in raw.recv(4096).split(b"\r\n")[0]


def test_a_graceful_stop_keeps_what_was_acknowledged(tmp_path):
    server = Server(tmp_path)
    server.start()
    with client(server) as ingest:
        ingest.send('{"op":"hello","v":1,"producer":"p"}')
        ingest.recv()
        ingest.send('{"op":"events","first":0,"n":1}\n' + line(agent_start("s.a.1")).decode())
        assert json.loads(ingest.recv())["upto"] == 0
        server.signal(signal.SIGTERM)

        assert closed(ingest) == 1001
    assert server.wait() == 0  # raises if the server still runs after 20 seconds
    assert not (tmp_path / "server.json").exists()

    server.start()
    with client(server) as ingest:
        ingest.send('{"op":"hello","v":1,"producer":"p"}')
        assert json.loads(ingest.recv())["high_water"] == 0
    server.stop()


def test_a_head_request_gets_no_body(server):
    with urlopen(Request(f"{server.url}/healthz", method="HEAD")) as response:
        assert response.read() == b""
    with pytest.raises(HTTPError) as refused:
        urlopen(Request(f"{server.url}/api/v1/sessions", method="HEAD"))
    with refused.value as response:
        assert (response.code, response.read()) == (401, b"")
        assert int(response.headers["Content-Length"]) > 0


def test_the_read_api_needs_authentication(server):
    with pytest.raises(HTTPError) as refused, urlopen(server.url + "/api/v1/sessions"):
        pass
    assert refused.value.code == 401
    refused.value.close()


@pytest.mark.parametrize("path", ["/p/default/live/sessions", "/p/unknown/live/sessions", "/nowhere"])
@pytest.mark.parametrize("is_ours", [True, False])
def test_page_sockets_need_a_signed_in_user(server, path, is_ours):
    origin = server.url if is_ours else "http://elsewhere.example"
    with pytest.raises(InvalidStatus) as refused:
        connect(server.url.replace("http", "ws") + path, origin=origin)

    assert refused.value.response.status_code == 403
    assert "Traceback" not in server.log()


@contextmanager
def slow_request(server, path):
    """Send a GET request on a socket with a small receive buffer."""
    with socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.connect(("127.0.0.1", server.port))
        head = f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.token}\r\n\r\n"
        raw.sendall(head.encode())
        raw.settimeout(20)
        yield raw


@pytest.fixture(scope="module")
def long_response(server):
    """Record 12 MB, more than socket buffers hold; return the path of the events and their bytes."""
    note = {"type": "Notice", "loop_id": "long.a.1", "kind": "warning", "severity": "info"}
    events = [agent_start("long.a.1"), *({**note, "text": str(n) * 150_000} for n in range(10, 50))]
    lines = [line(event) for event in events]
    agent = server.agent("long")
    for at in range(0, len(lines), 8):
        agent.send(*lines[at : at + 8])
    return "/api/v1/sessions/long/events", b"".join(each + b"\n" for each in lines)


def test_a_slow_reader_receives_the_whole_response(server, long_response):
    path, lines = long_response
    with slow_request(server, path) as raw:
        sleep(0.5)  # so that the socket buffers fill
        received = b"".join(iter(partial(raw.recv, 16384), b""))

    assert received.partition(b"\r\n\r\n")[2] == lines


def test_a_client_that_disconnects_during_a_response_does_not_affect_others(server, long_response):
    path, lines = long_response
    for _ in range(20):
        with slow_request(server, path) as raw:
            raw.recv(3000)
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
    with slow_request(server, path) as raw:
        received = b"".join(iter(partial(raw.recv, 65536), b""))

    assert received.endswith(lines)
    assert "Traceback" not in server.log()
