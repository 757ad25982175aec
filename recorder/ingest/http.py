"""The HTTP door for events: a plain ASGI application, because Django's handler costs more than the commit."""

from __future__ import annotations

import json
import logging
import zlib
from dataclasses import asdict
from math import ceil
from typing import Any
from urllib.parse import parse_qs

from django.conf import settings

from recorder.database.errors import Busy
from recorder.ingest.auth import (
    NUMBER,
    NUMBER_MAX,
    Grant,
    NoToken,
    Receive,
    Scope,
    Send,
    WrongScope,
    authenticate,
    format_of,
    header,
    is_producer,
)
from recorder.ingest.rate_limit import submit
from recorder.journal.batch import Batch, Gap, Mixed, Receipt, lines_of

log = logging.getLogger(__name__)

NDJSON, JSON = "application/x-ndjson", "application/json"
GZIP = 16 + zlib.MAX_WBITS


class Fault(Exception):
    """A request that is refused whole: its status, code and a sentence for people."""

    def __init__(self, status: int, code: str, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"code": code, "message": message}
        self.headers = headers


class Gone(Exception):
    """The one who asked has left."""


async def ingest_http(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one request to `/ingest/v1/events`."""
    try:
        receipt = await _take(scope, receive)
    except Fault as fault:
        await reply(send, fault.status, fault.body, **fault.headers)
    except Gap as gap:
        message = f"lines before these are missing: send again from {gap.from_}"
        await reply(send, 409, {"code": "gap", "message": message, "from": gap.from_})
    except Mixed as mixed:
        await reply(send, 400, {"code": "bad_body", "message": str(mixed)})
    except Busy as busy:
        later = refused_by(busy)
        await reply(send, later.status, later.body, **later.headers)
    except Gone:
        return
    except Exception:
        log.exception("a request cannot be recorded")
        await reply(send, 500, {"code": "our_bug", "message": "nothing is known to be stored"})
    else:
        await reply(send, 200, asdict(receipt))


async def reply(send: Send, status: int, body: dict[str, Any], **headers: str) -> None:
    """Send a JSON answer."""
    content = json.dumps(body, separators=(",", ":")).encode()
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
    """Say by HTTP that the store cannot take anything now."""
    wait = str(ceil(busy.retry_after_ms / 1000))
    status = 429 if busy.code == "rate_limited" else 503
    return Fault(status, busy.code, "nothing of it was stored: try again later", retry_after=wait)


async def _take(scope: Scope, receive: Receive) -> Receipt:
    if scope["method"] != "POST":
        raise Fault(405, "bad_method", "events are sent by POST", allow="POST")
    headers = scope["headers"]
    grant: Grant = scope.get("grant") or await admitted(headers)
    media, is_gzip = _media(headers)
    producer, first = _numbered(headers)
    try:
        form = format_of(scope["query_string"])
    except ValueError as error:
        raise Fault(400, "bad_body", str(error)) from None
    body = await _body(headers, receive)
    if is_gzip:
        body = inflated(body, settings.LOOPSCOPE_LIMITS["inflated_bytes"])
    lines = [_one_line(body)] if media == JSON else lines_of(body)
    flush = parse_qs(scope["query_string"].decode("latin-1")).get("flush") == ["1"]
    batch = Batch(grant.project, producer, first, lines, form, grant.is_demo, flush=flush, token=grant.token)
    return await submit(batch)


async def admitted(headers: list[tuple[bytes, bytes]]) -> Grant:
    """Return what the token of a request allows. Raises Fault or Busy."""
    try:
        return await authenticate(headers)
    except NoToken:
        ask = 'Bearer realm="loopscope"'
        raise Fault(401, "unauthorized", "a valid bearer token is needed", www_authenticate=ask) from None
    except WrongScope:
        raise Fault(403, "forbidden", "the token lacks the scope ingest") from None


def _media(headers: list[tuple[bytes, bytes]]) -> tuple[str, bool]:
    media, _, parameters = (header(headers, b"content-type") or "").partition(";")
    media = media.strip().lower()
    charset = parameters.strip().lower().replace('"', "")
    if media not in (NDJSON, JSON) or charset not in ("", "charset=utf-8", "charset=utf8"):
        raise Fault(415, "bad_media_type", f"send {NDJSON} in UTF-8, or {JSON} with one object")
    encoding = (header(headers, b"content-encoding") or "identity").lower()
    if encoding not in ("identity", "gzip"):
        raise Fault(415, "bad_encoding", "gzip is the only content encoding", accept_encoding="gzip")
    return media, encoding == "gzip"


def _numbered(headers: list[tuple[bytes, bytes]]) -> tuple[str | None, int | None]:
    producer, first = header(headers, b"x-producer"), header(headers, b"x-first-seq")
    if producer is None and first is None:
        return None, None
    if producer is None or first is None:
        raise Fault(400, "bad_seq", "X-Producer and X-First-Seq come together or not at all")
    if not is_producer(producer):
        raise Fault(400, "bad_seq", "X-Producer has 1 to 200 characters, none of them invisible")
    if not NUMBER.fullmatch(first) or int(first) > NUMBER_MAX:
        raise Fault(400, "bad_seq", "X-First-Seq is a whole number from 0 to 2^53-1")
    return producer, int(first)


async def _body(headers: list[tuple[bytes, bytes]], receive: Receive) -> bytes:
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


def inflated(body: bytes, limit: int) -> bytes:
    """Return what a gzip body holds, never more than `limit` bytes. Raises Fault."""
    parts: list[bytes] = []
    left, rest = limit + 1, body
    while rest:
        member = zlib.decompressobj(GZIP)
        try:
            part = member.decompress(rest, left)
        except zlib.error:
            raise Fault(400, "bad_encoding", "the body is not gzip") from None
        parts.append(part)
        left -= len(part)
        if left <= 0:
            raise too_large(limit)
        if not member.eof:
            raise Fault(400, "bad_encoding", "the gzip body ends too early")
        rest = member.unused_data
    return b"".join(parts)


def _one_line(body: bytes) -> bytes:
    """Return one JSON object as a line; it may have been printed over several."""
    try:
        is_object = isinstance(json.loads(body), dict)
    except (json.JSONDecodeError, UnicodeDecodeError):
        is_object = False
    except (ValueError, RecursionError):  # too many digits, or too deep: the line itself is judged
        is_object = True
    if not is_object:
        raise Fault(400, "bad_body", f"{JSON} holds one JSON object")
    return body.replace(b"\r", b" ").replace(b"\n", b" ").strip()
