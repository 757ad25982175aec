"""The request of an HTTP endpoint: its token, and its body within limits."""

from __future__ import annotations

from django.conf import settings

from recorder.asgi.scope import Receive, header
from recorder.ingest.auth import Archived, Grant, NoToken, WrongScope, authenticate
from recorder.ingest.http.response import Fault, Gone, too_large
from recorder.ingest.limits import rate_limit


async def admitted(headers: list[tuple[bytes, bytes]]) -> Grant:
    """Return the grant of a request's token, if it is within its rate. Raises Fault or Busy.

    The body is neither received nor read before: a token beyond its rate costs a look-up and no more.
    """
    try:
        grant = await authenticate(headers)
    except NoToken:
        ask = 'Bearer realm="loopscope"'
        raise Fault(401, "unauthorized", "a valid bearer token is needed", www_authenticate=ask) from None
    except WrongScope:
        raise Fault(403, "forbidden", "the token lacks the scope ingest") from None
    except Archived as archived:
        raise Fault(403, "archived", str(archived)) from None
    rate_limit.rates.ask(grant.token)
    return grant


async def read_body(headers: list[tuple[bytes, bytes]], receive: Receive) -> bytes:
    """Return the body of a request, at most `body_bytes`. Raises Fault or Gone."""
    limit = settings.LOOPSCOPE_LIMITS["body_bytes"]
    length = header(headers, b"content-length")
    if length and length.isdecimal() and int(length) > limit:
        raise too_large(limit)
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise too_large(limit)
        parts.append(part)
        if not message.get("more_body"):
            return b"".join(parts)
