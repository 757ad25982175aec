"""Types of an ASGI application, and its headers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

Scope = dict[str, Any]
Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]


def header(headers: Headers, name: bytes) -> str | None:
    """Return a header that was sent once; None if it is missing, "" if it was sent twice."""
    found = [value.decode("utf-8", "replace") for key, value in headers if key == name]
    return None if not found else found[0].strip() if len(found) == 1 else ""
