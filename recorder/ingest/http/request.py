"""The request of an HTTP endpoint: its token, and its body with limits before and after it is inflated."""

from __future__ import annotations

import zlib

from django.conf import settings

from recorder.asgi.scope import Receive, header
from recorder.ingest.auth import Archived, Grant, NoToken, WrongScope, authenticate
from recorder.ingest.http.response import Fault, Gone, too_large
from recorder.ingest.limits import rate_limit
from recorder.ingest.limits.decoding import Hold, uncounted

WINDOWS = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}  # of zlib, by content encoding
CHUNK = 64 * 1024  # gzip is inflated by so many bytes: what follows a member is copied, and a chunk at most
MEMBERS = 64  # of one gzip body; each costs an inflater of 40 kB
RATIO = 250  # an inflated body is at most so many times longer than it was sent,
RATIO_FROM = 1024 * 1024  # if it is longer than this


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


def inflated(body: bytes, limit: int, hold: Hold = uncounted, encoding: str = "gzip") -> bytes:
    """Return what a body of an encoding of `WINDOWS` holds, in time linear to the bytes sent and returned.

    `hold` is called with the size of each part.

    Raises:
        Fault: 413 for more than `limit` bytes or a ratio above `RATIO`; 400 for more than `MEMBERS` members
            or a body that is not so encoded.
    """
    limit = min(limit, max(RATIO_FROM, RATIO * len(body)))
    parts: list[bytes] = []
    left, members, member = limit + 1, 1, zlib.decompressobj(WINDOWS[encoding])
    for start in range(0, len(body), CHUNK):
        rest = body[start : start + CHUNK]
        while rest:
            if member.eof:
                members, member = members + 1, zlib.decompressobj(WINDOWS[encoding])
            if members > MEMBERS:
                raise Fault(400, "bad_encoding", f"a {encoding} body has at most {MEMBERS} members")
            try:
                parts.append(member.decompress(rest, left))
            except zlib.error:
                raise Fault(400, "bad_encoding", f"the body is not {encoding}") from None
            hold(len(parts[-1]))
            left -= len(parts[-1])
            if left <= 0:  # else all of `rest` was read, or its member ended
                raise Fault(413, "too_large", f"this body may have at most {limit} bytes after {encoding}")
            rest = member.unused_data
    if body and not member.eof:
        raise Fault(400, "bad_encoding", f"the {encoding} body ends too early")
    return b"".join(parts)
