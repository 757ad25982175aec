"""A small client of the HTTP door: numbered lines, sent again until they are stored."""

from __future__ import annotations

import http.client
import json
import time
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

PATIENCE = 30  # seconds of a server that does not answer


class HttpClientError(Exception):
    """The server cannot be reached, or refused what was sent."""


@dataclass(slots=True)
class HttpClient:
    """One producer at one server."""

    url: str
    token: str
    producer: str
    sent: int = 0
    _connection: http.client.HTTPConnection | None = field(default=None, repr=False)

    def send(self, lines: list[bytes]) -> None:
        """Send the next lines; return once they are stored. Raises DoorError."""
        until = time.monotonic() + PATIENCE
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
            time.sleep(wait)

    def finish(self) -> None:
        """Say that nothing more comes, once: what was left open becomes aborted."""
        with suppress(OSError, http.client.HTTPException, HttpClientError):
            self._post(b"", "?flush=1")

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection:
            self._connection.close()
            self._connection = None

    def _post(self, body: bytes, query: str = "") -> float | None:
        """Return None when the lines are stored, else how long to wait before sending them again."""
        self._connection = self._connection or _connect(self.url)
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/x-ndjson",
            "X-Producer": self.producer,
            "X-First-Seq": str(self.sent),
        }
        self._connection.request("POST", f"/ingest/v1/events{query}", body, headers)
        answer = self._connection.getresponse()
        said = answer.read()
        if answer.status in (429, 503):
            return float(answer.headers.get("Retry-After", "1"))
        if answer.status != 200:
            raise HttpClientError(
                f"{self.url} answered {answer.status}: {said[:300].decode(errors='replace')}"
            )
        if rejected := json.loads(said)["rejected"]:
            raise HttpClientError(f"{self.url} rejected an event: {rejected[0]}")
        return None


def _connect(url: str) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise HttpClientError(f"{url} is no address such as http://127.0.0.1:8000")
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return kind(parts.hostname, parts.port, timeout=10)
