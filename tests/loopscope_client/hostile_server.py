"""An ingest endpoint for tests: it stores numbered lines, and fails as its script says."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.support.wait import LONGEST_S

TRICKLE_S = 0.05  # between two bytes


class Hostile:
    """Stores lines in `kept`, by producer. `script` has a fault per request, `always` that of the rest."""

    def __init__(self) -> None:
        self.kept: dict[str, list[bytes]] = {}
        self.scores: list[dict] = []
        self.script: list[Callable[[BaseHTTPRequestHandler, list[bytes]], bool]] = []
        self.always: Callable[[BaseHTTPRequestHandler, list[bytes]], bool] | None = None
        self.requests = 0
        self.requested = threading.Event()
        self.released = threading.Event()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def events(self, producer: str | None = None) -> list[dict]:
        """Return the stored events of one producer or of all."""
        with self._lock:
            names = [producer] if producer else list(self.kept)
            return [json.loads(line) for name in names for line in self.kept.get(name, [])]

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()

    def store(self, producer: str, first: int, lines: list[bytes]) -> tuple[int, dict]:
        with self._lock:
            kept = self.kept.setdefault(producer, [])
            if first > len(kept):
                return 409, {"code": "gap", "from": len(kept)}
            rejected = []
            for seq, line in enumerate(lines, first):
                if seq < len(kept):
                    if kept[seq] != line:
                        rejected.append({"seq": seq, "code": "seq_conflict", "path": "", "message": ""})
                else:
                    kept.append(line)
            return 200, {"upto": len(kept) - 1, "rejected": rejected}

    def _handler(self):
        hostile = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self.lines = [line for line in body.split(b"\n") if line.strip()]
                hostile.requests += 1
                act = hostile.script.pop(0) if hostile.script else hostile.always
                hostile.requested.set()
                if act is None or act(self, self.lines):
                    answer(self, *self.stored())

            def stored(self):
                if self.path.endswith("/api/v1/notes"):
                    hostile.scores.append(json.loads(self.lines[0]))
                    return 201, {"id": len(hostile.scores)}
                return hostile.store(self.headers["X-Producer"], int(self.headers["X-First-Seq"]), self.lines)

            def log_message(self, *_):
                pass

        return Handler


def answer(handler, status, fields, **headers):
    body = json.dumps(fields).encode()
    handler.send_response(status)
    for name, value in {"Content-Length": str(len(body)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


def says(status, code="", **headers):
    """Store nothing and answer with a status."""

    def act(handler, _):
        answer(handler, status, {"code": code}, **headers)
        return False

    return act


def resets(handler, _):
    """Store nothing and cut the connection as a crash does."""
    _cut(handler)
    return False


def stores_and_resets(handler, _):
    """Store everything and cut the connection before the response."""
    handler.stored()
    _cut(handler)
    return False


def refuses_over(size):
    """Answer 413 to bodies of more than `size` bytes."""

    def act(handler, lines):
        if sum(map(len, lines)) + len(lines) - 1 > size:
            answer(handler, 413, {"code": "too_large"})
            return False
        return True

    return act


def hangs(hostile):
    """Read the request and never answer, until `released` is set."""

    def act(_handler, _lines):
        hostile.released.wait(LONGEST_S)
        return False

    return act


def trickles(hostile):
    """Answer byte by byte, until the client closes the connection."""

    def act(handler, _):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        try:
            while not hostile.released.wait(TRICKLE_S):
                handler.wfile.write(b"X")
        except OSError:
            pass
        return False

    return act


def _cut(handler):
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True
    handler.wfile = handler.rfile


def numbered(count, start=0):
    return [{"type": "Step", "loop_id": "l", "n": n} for n in range(start, start + count)]


def send(client, events):
    for event in events:
        client.send(event)
