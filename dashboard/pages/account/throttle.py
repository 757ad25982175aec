"""Limits on sign-in attempts: per account and address, per account, and per address, each within a minute.

An account is counted under the name that Django looks up, whatever was typed. Counts are kept in memory, in
each process; the table is bounded, and the oldest count gives way.
"""

from __future__ import annotations

import ipaddress
import threading
import unicodedata
from collections import OrderedDict
from time import monotonic

from django.conf import settings
from django.http import HttpRequest

TRIES = 5  # for one account from one address
ACCOUNT_TRIES = 20  # for one account from anywhere
ADDRESS_TRIES = 40  # from one address, for all accounts
WINDOW_S = 60.0
ROWS = 20_000
NAME_CHARS = 150  # of Django's user names

Key = tuple[str, str]


class Attempts:
    """Counts by key. One ends `WINDOW_S` after its first attempt: they end in the order of insertion."""

    def __init__(self, rows: int = ROWS) -> None:
        self._rows = rows
        self._counts: OrderedDict[Key, tuple[float, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._counts)

    def count(self, key: Key) -> int:
        """Count an attempt; return how many there were within the window."""
        now = monotonic()
        with self._lock:
            while self._counts and next(iter(self._counts.values()))[0] <= now:
                self._counts.popitem(last=False)
            ends_at, tries = self._counts.get(key, (now + WINDOW_S, 0))
            self._counts[key] = ends_at, tries + 1
            if len(self._counts) > self._rows:
                self._counts.popitem(last=False)
        return tries + 1

    def clear(self) -> None:
        """Forget all counts."""
        with self._lock:
            self._counts.clear()


attempts = Attempts()


def tries_left(request: HttpRequest) -> bool:
    """Count an attempt; return whether it is allowed."""
    account, address = account_of(request.POST.get("username", "")), address_of(request)
    # The address is counted first and alone decides, so one address cannot use up the count of an account.
    if attempts.count(("", address)) > ADDRESS_TRIES or attempts.count((account, address)) > TRIES:
        return False
    return attempts.count((account, "")) <= ACCOUNT_TRIES


def account_of(name: str) -> str:
    """Return the name that a typed one signs in with, as `UsernameField` reads it, regardless of case."""
    return unicodedata.normalize("NFKC", name.strip()).strip().casefold()[:NAME_CHARS]


def address_of(request: HttpRequest) -> str:
    """Return the client's address; of IPv6 its network, because one client has all addresses of a /64.

    Behind a trusted proxy it is the last entry of `X-Forwarded-For`, which the proxy wrote.
    """
    given = str(request.META.get("REMOTE_ADDR", ""))
    if settings.SECURE_PROXY_SSL_HEADER:
        given = request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip() or given
    try:
        address = ipaddress.ip_address(given)
    except ValueError:
        return given[:64]
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)
