"""The responses of the HTTP endpoints: JSON, or why a request is refused."""

from __future__ import annotations

import json
from math import ceil
from typing import Any

from recorder.asgi.scope import Scope, Send
from recorder.database.errors import Busy
from recorder.ingest.auth import note_refusal

JSON = "application/json"


class Fault(Exception):
    """A request that is refused as a whole: its status, its code and a message for people."""

    def __init__(
        self, status: int, code: str, message: str, more: dict[str, Any] | None = None, **headers: str
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"code": code, "message": message, **(more or {})}
        self.headers = headers


class Gone(Exception):
    """The client has disconnected."""


async def note_fault(scope: Scope, fault: Fault) -> None:
    """Store why a POST is refused, unless it is to be sent again as it is or this server is at fault."""
    if scope["method"] == "POST" and 400 <= fault.status < 500 and fault.status not in (409, 429):
        await note_refusal(scope, fault.status, fault.body["code"], str(fault))


async def reply(send: Send, status: int, body: dict[str, Any], **headers: str) -> None:
    """Send a JSON answer."""
    await send_content(send, status, as_json(body), **headers)


def as_json(body: dict[str, Any]) -> bytes:
    """Return a body as JSON without spaces."""
    return json.dumps(body, separators=(",", ":")).encode()


async def send_content(send: Send, status: int, content: bytes, **headers: str) -> None:
    """Send an answer; it is JSON unless `content_type` says otherwise."""
    given = {
        "content-type": JSON,
        "content-length": str(len(content)),
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    } | {name.replace("_", "-"): value for name, value in headers.items()}
    pairs = [(name.encode(), value.encode()) for name, value in given.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": content})


def too_large(limit: int) -> Fault:
    return Fault(413, "too_large", f"a body has at most {limit} bytes")


def refused_by(busy: Busy) -> Fault:
    """Return the response for a store that cannot be written now."""
    wait = str(ceil(busy.retry_after_ms / 1000))
    status = 429 if busy.code == "rate_limited" else 503
    return Fault(status, busy.code, "nothing of it was stored: try again later", retry_after=wait)
