"""Requests to the server that is attacked."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench.support.ingest_client import Line
from bench.support.machine import Target
from bench.support.viewers import Reader

LOOK_S = 0.3


@dataclass(frozen=True, slots=True)
class Place:
    """The server that is attacked, somebody who is signed in, and a session that was recorded."""

    target: Target
    reader: Reader
    session: str = ""  # its id
    page: str = ""  # its path
    icon: str = ""  # the path of a static file

    @property
    def port(self) -> int:
        return self.target.port

    @property
    def token(self) -> str:
        return self.target.token

    @property
    def cookie(self) -> str:
        return self.reader.socket("/p/default/sessions")[1]["Cookie"]

    def cpu_s(self) -> float:
        return self.target.cpu_s()


def post(target: Place, body: bytes, path: str = "/ingest/v1/events", **headers: str) -> bytes:
    """Return a request that posts a body with the token of the target."""
    fields = {"content-length": str(len(body)), "content-type": "application/x-ndjson"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    lines = [f"{name}: {value}" for name, value in fields.items()]
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {target.token}\r\n"
    return (head + "\r\n".join(lines)).encode() + b"\r\n\r\n" + body


def send(target: Place, request: bytes, times: int = 1) -> tuple[int, str]:
    """Send a request and return its bytes and the status; a refusal may come before all was sent."""
    with connected(target) as line:
        for _ in range(times):
            try:
                line.send(request)
            except OSError:  # it was refused early, and the rest was not read
                return len(request) * times, "closed"
            status, content = line.read_response()
    code = json.loads(content).get("code", "") if content.startswith(b"{") and status >= 400 else ""
    return len(request) * times, f"{status} {code}".strip()


@contextmanager
def connected(target: Place) -> Iterator[Line]:
    """Open a connection to the target."""
    line = Line(target.port)
    try:
        yield line
    finally:
        line.close()


def wait_until_read(target: Place) -> None:
    """Return when the server has read what it acknowledged of spans."""
    request = f"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {target.token}\r\n\r\n"
    with connected(target) as line:
        while True:
            line.send(request.encode())
            waiting = line.read_response()[1].partition(b"\nloopscope_spans_waiting_bytes ")[2]
            if float(waiting.partition(b"\n")[0]) == 0:
                return
            time.sleep(LOOK_S)  # the metrics are asked again then
