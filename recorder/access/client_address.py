"""The address of a client, also behind trusted proxies: for limits, the audit log, and the use of tokens."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from django.conf import settings

CHARS = 64


def client_address(peer: str, forwarded: str) -> str:
    """Return the client's address, "" if it is unknown; at most `CHARS` characters.

    `peer` is the other end of the connection, `forwarded` the header `X-Forwarded-For`. With
    `LOOPSCOPE_PROXIES` of n it is the entry that the outermost of n proxies wrote, which is the nth from the
    end: what stands before it was sent by the client and may be anything.
    """
    address = peer
    if proxies := settings.LOOPSCOPE_PROXIES:
        parts = [part.strip() for part in forwarded.split(",")]
        address = (parts[-proxies] if len(parts) >= proxies else "") or address
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return address[:CHARS]


def scope_address(scope: Mapping[str, Any]) -> str:
    """Return the client's address of an ASGI connection, "" if it is unknown."""
    peer = (scope.get("client") or ("",))[0] or ""
    values = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
    return client_address(peer, b",".join(values).decode("latin-1"))
