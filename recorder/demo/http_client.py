"""A minimal client of the HTTP ingest endpoint: numbered lines, retried until they are stored."""

from __future__ import annotations

import http.client
import json
import time
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

RETRY_S = 30  # how long to retry while the server does not answer


class HttpClientError(Exception):
    """The server cannot be reached, or refused the request."""


@dataclass(slots=True)
class HttpClient:
    """Sends the lines of one producer to one server."""

    url: str
    token: str
    producer: str
    sent: int = 0
    _connection: http.client.HTTPConnection | None = field(default=None, repr=False)

    def send(self, lines: list[bytes]) -> None:
        """Send the next lines; return when they are stored. Raises HttpClientError."""
        until = time.monotonic() + RETRY_S
        while True:
            try:
                wait = self._post(b"\n".join(lines))
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if time.monotonic() > until:
                    raise HttpClientError(f"{self.url} does not answer ({error})") from error
                wait = 0.5
            if wait is None:
                self.sent += len(lines)
                return
            if time.monotonic() > until:
                raise HttpClientError(f"{self.url} is too busy")
            time.sleep(wait)  # as long as the server asks for, or before the next attempt

    def finish(self) -> None:
        """Send the end of the stream, without retries: the server aborts loops that are still open."""
        self.close()  # an interrupted request leaves a connection that cannot send another one
        with suppress(OSError, http.client.HTTPException, HttpClientError):
            self._post(b"", "?flush=1")

    def close(self) -> None:
        """Close the connection."""
        if self._connection:
            self._connection.close()
            self._connection = None

    def _post(self, body: bytes, query: str = "") -> float | None:
        """Return None if the lines are stored, else the seconds to wait before the next try."""
        self._connection = self._connection or _connect(self.url)
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/x-ndjson",
            "X-Producer": self.producer,
            "X-First-Seq": str(self.sent),
        }
        self._connection.request("POST", f"/ingest/v1/events{query}", body, headers)
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status in (429, 503):
            return float(answer.headers.get("Retry-After", "1"))
        if answer.status != 200:
            raise HttpClientError(
                f"{self.url} answered {answer.status}: {content[:300].decode(errors='replace')}"
            )
        if rejected := json.loads(content)["rejected"]:
            raise HttpClientError(f"{self.url} rejected an event: {rejected[0]}")
        return None


def _connect(url: str) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise HttpClientError(f"{url} is not an address such as http://127.0.0.1:8000")
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return kind(parts.hostname, parts.port, timeout=10)
