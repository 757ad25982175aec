"""The address of a client, also behind a trusted proxy."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from recorder.access.client_address import client_address

if TYPE_CHECKING:
    from django.http import HttpRequest


def address_of(request: HttpRequest) -> str:
    """Return the client's address, "" if it is unknown; at most 64 characters."""
    return client_address(
        str(request.META.get("REMOTE_ADDR", "")), request.headers.get("X-Forwarded-For", "")
    )


def network_of(request: HttpRequest) -> str:
    """Return what limits count as one client: of IPv6 a /64, because one client has all its addresses."""
    text = address_of(request)
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)
