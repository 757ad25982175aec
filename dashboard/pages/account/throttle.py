"""Five tries a minute for one address and one account; the count lives in the cache and forgets itself."""

import hashlib

from django.core.cache import cache
from django.http import HttpRequest

TRIES = 5
WINDOW_S = 60


def tries_left(request: HttpRequest) -> bool:
    """Count this try; return whether it may be made."""
    account = request.POST.get("username", "").casefold()
    who = f"{request.META.get('REMOTE_ADDR', '')}\n{account}"
    key = "signin-" + hashlib.sha256(who.encode(errors="replace")).hexdigest()
    cache.add(key, 0, WINDOW_S)
    try:
        return cache.incr(key) <= TRIES
    except ValueError:  # it ran out between the two lines
        return True
