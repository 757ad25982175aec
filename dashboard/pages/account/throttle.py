"""Limit of five sign-in attempts per minute, address and account; counts expire in the cache."""

import hashlib

from django.core.cache import cache
from django.http import HttpRequest

TRIES = 5
WINDOW_S = 60


def tries_left(request: HttpRequest) -> bool:
    """Count an attempt; return whether it is allowed."""
    account = request.POST.get("username", "").casefold()
    who = f"{request.META.get('REMOTE_ADDR', '')}\n{account}"
    key = "signin-" + hashlib.sha256(who.encode(errors="replace")).hexdigest()
    cache.add(key, 0, WINDOW_S)
    try:
        return cache.incr(key) <= TRIES
    except ValueError:  # it expired between the two calls
        return True
