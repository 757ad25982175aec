"""HTTP requests to the ingest endpoint; each ends within a time limit, whatever the server does."""

from __future__ import annotations

import http.client
import io
import json
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import monotonic
from urllib.parse import urlsplit

CONNECT_S, ANSWER_S = 5.0, 20.0
ANSWER_BYTES = 4 * 1024 * 1024
PATH, NOTES = "/ingest/v1/events", "/api/v1/notes"


@dataclass(frozen=True, slots=True)
class Response:
    """Status, JSON body and waiting time of a response; status 0 when none came."""

    status: int
    body: dict[str, object] = field(default_factory=dict)
    retry_after_s: float | None = None
    error: str = ""

    def number(self, name: str) -> int | None:
        """Return an integer of the body, None when it has none of this name."""
        found = self.body.get(name)
        return found if isinstance(found, int) and not isinstance(found, bool) else None


class Connection:
    """A persistent connection to the ingest endpoint. Raises ValueError when `url` is not a URL."""

    def __init__(
        self, url: str, token: str, form: str = "native", headers: Mapping[str, str] | None = None
    ) -> None:
        parts = urlsplit(url if "//" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url} is not a URL such as http://127.0.0.1:8000")
        self._host, self._port, self._is_tls = parts.hostname, parts.port, parts.scheme == "https"
        self._path = f"{parts.path.rstrip('/')}{PATH}?format={form}"
        self._notes = parts.path.rstrip("/") + NOTES
        self._token = token
        self._headers = dict(headers or {})
        self._connection: http.client.HTTPConnection | None = None

    def post(self, producer: str, first: int, lines: list[bytes], *, flush: bool = False) -> Response:
        """Send lines, numbered from `first`, and return the response; `flush` ends the producer's stream."""
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/x-ndjson",
            "X-Producer": producer.encode().decode("latin-1"),
            "X-First-Seq": str(first),
            **self._headers,
        }
        path = self._path + ("&flush=1" if flush else "")
        return self._post(path, headers, b"\n".join(lines))

    def post_score(self, body: bytes) -> Response:
        """Send one score, a body of `POST /api/v1/notes`, and return the response."""
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            **self._headers,
        }
        return self._post(self._notes, headers, body)

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(OSError):
                connection.close()

    def _post(self, path: str, headers: dict[str, str], body: bytes) -> Response:
        is_reused = self._connection is not None
        response = self._try(path, headers, body)
        # The server may have closed an idle connection. A second request is harmless: lines are numbered, and
        # a score exists once for its name and target.
        return self._try(path, headers, body) if is_reused and not response.status else response

    def _try(self, path: str, headers: dict[str, str], body: bytes) -> Response:
        try:
            connection = self._connection = self._connection or self._connect()
            _timed(connection).deadline = monotonic() + ANSWER_S
            connection.request("POST", path, body, headers)
            received = connection.getresponse()
            response = _read(received)
            if received.will_close:
                self.close()
            return response
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            return Response(0, error=f"{type(error).__name__}: {error}")

    def _connect(self) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._is_tls else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=CONNECT_S)
        connection.connect()
        connection.sock = _Timed(connection.sock)
        return connection


class _Timed:
    """A socket with one deadline for the whole exchange, which bytes that trickle in do not extend."""

    def __init__(self, sock: socket.socket | ssl.SSLSocket) -> None:
        self._sock = sock
        self.deadline = monotonic() + CONNECT_S

    def sendall(self, data: bytes) -> None:
        self._sock.settimeout(self.left())
        self._sock.sendall(data)

    def makefile(self, *_: object, **__: object) -> io.BufferedReader:
        return io.BufferedReader(_Reading(self))

    def recv_into(self, buffer: memoryview) -> int:
        self._sock.settimeout(self.left())
        return self._sock.recv_into(buffer)

    def left(self) -> float:
        left = self.deadline - monotonic()
        if left <= 0:
            raise TimeoutError("the server did not answer in time")
        return left

    def close(self) -> None:
        self._sock.close()


class _Reading(io.RawIOBase):
    def __init__(self, sock: _Timed) -> None:
        self._timed = sock

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # what BufferedReader gives
        return self._timed.recv_into(buffer)


def _timed(connection: http.client.HTTPConnection) -> _Timed:
    sock = connection.sock
    if not isinstance(sock, _Timed):
        raise ConnectionError("the connection was closed")
    return sock


def _read(response: http.client.HTTPResponse) -> Response:
    content = response.read(ANSWER_BYTES)
    try:
        parsed = json.loads(content)
    except (ValueError, RecursionError):
        parsed = None
    body = parsed if isinstance(parsed, dict) else {}
    error = "" if response.status in (200, 201) else f"{response.status} {body.get('code', response.reason)}"
    return Response(response.status, body, _wait(response.headers.get("Retry-After")), error)


def _wait(header: str | None) -> float | None:
    """Return the seconds of a Retry-After header, which is a number or a date."""
    if header is None:
        return None
    with suppress(ValueError):
        return max(0.0, float(header))
    with suppress(ValueError, TypeError):
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    return None
