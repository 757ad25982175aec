"""The HTTP endpoint for events: a plain ASGI application, as Django's handler costs more than the commit."""

from __future__ import annotations

import asyncio
import json
import logging
from functools import partial
from urllib.parse import parse_qs

from django.conf import settings
from jiter import from_json

from recorder.access.client_address import scope_address
from recorder.asgi.scope import Receive, Scope, Send, header
from recorder.core.formats.structure import has_more_values
from recorder.database.errors import Busy
from recorder.ingest.auth import (
    MACHINE_CHARS,
    NUMBER,
    NUMBER_MAX,
    Grant,
    format_of,
    is_machine,
    is_producer,
)
from recorder.ingest.commit.submit import submit
from recorder.ingest.http.content_encoding import inflated
from recorder.ingest.http.request import admitted, read_body
from recorder.ingest.http.response import (
    JSON,
    Fault,
    Gone,
    as_json,
    note_fault,
    refused_by,
    reply,
    send_content,
)
from recorder.ingest.limits.decoding import BODIES, Hold, decoding, uncounted
from recorder.journal.batch import Batch, Closed, Gap, Mixed, Receipt, lines_of

log = logging.getLogger(__name__)

NDJSON = "application/x-ndjson"
# A plain body is read on the event loop up to these limits, in at most 2 ms. A thread would wait for the GIL
# while the writer holds it, and so delay each batch of an ordinary sender.
INLINE_BYTES, INLINE_LINES = 1024 * 1024, 1_000
INLINE_OBJECT_BYTES = 16 * 1024  # of one JSON object, which is parsed
INLINE_REJECTS = 50  # an answer with more of them is written in a thread


async def ingest_http(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one request to `/ingest/v1/events`."""
    try:
        answer = await _answer(scope, receive)
    except Gone:
        return
    # Here the body and its lines are freed: a client that reads slowly must not keep them in memory.
    if isinstance(answer, Fault):
        await note_fault(scope, answer)
        await reply(send, answer.status, answer.body, **answer.headers)
    else:
        await send_content(send, 200, answer)


async def _answer(scope: Scope, receive: Receive) -> Fault | bytes:
    """Store a request; return the content of its receipt, or why it is refused. Raises Gone."""
    try:
        return await _written(await _take(scope, receive))
    except Fault as fault:
        fault.__context__ = None  # zlib's error, whose frame has the body
        return fault.with_traceback(None)
    except (Gap, Mixed, Closed) as unstored:
        return _fault_of(unstored)
    except Busy as busy:
        return refused_by(busy)
    except Gone:
        raise
    except Exception:
        log.exception("a request cannot be recorded")
        return Fault(500, "our_bug", "nothing is known to be stored")


def _fault_of(unstored: Gap | Mixed | Closed) -> Fault:
    """Return the response for a batch of which nothing is stored."""
    if isinstance(unstored, Gap):
        message = f"lines before these are missing: send again from {unstored.from_}"
        return Fault(409, "gap", message, more={"from": unstored.from_})
    if isinstance(unstored, Closed):
        return Fault(403, unstored.code, str(unstored))
    return Fault(400, "bad_body", str(unstored))


async def _written(receipt: Receipt) -> bytes:
    """Return a receipt as JSON; one with many rejected lines is written off the event loop."""
    if len(receipt.rejected) <= INLINE_REJECTS:
        return _content(receipt)
    return await asyncio.get_running_loop().run_in_executor(BODIES, _content, receipt)


def _content(receipt: Receipt) -> bytes:
    return as_json(receipt.fields())


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
    body = await read_body(headers, receive)
    lines = await _lines(body, media, grant.token, is_gzip=is_gzip)
    flush = parse_qs(scope["query_string"].decode("latin-1")).get("flush") == ["1"]
    batch = Batch(
        *(grant.project, producer, first, lines, form, grant.is_demo),
        flush=flush,
        token=grant.token,
        address=scope_address(scope),
        machine=_machine(headers),
    )
    return await submit(batch)


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


def _machine(headers: list[tuple[bytes, bytes]]) -> str:
    """Return the name of the sender's computer, "" without one."""
    name = header(headers, b"x-loopscope-machine")
    if name is None:
        return ""
    if not is_machine(name):
        text = f"X-Loopscope-Machine has 1 to {MACHINE_CHARS} characters, none of them invisible"
        raise Fault(400, "bad_machine", text)
    return name


async def _lines(body: bytes, media: str, token: int, *, is_gzip: bool) -> list[bytes]:
    """Return the lines of a body, read off the event loop unless plain and short. Raises Fault or Busy."""
    if not is_gzip and _is_short(body, media):
        return _read(body, media, is_gzip=False)
    return await decoding.run(token, body, partial(_read, body, media, is_gzip=is_gzip))


def _is_short(body: bytes, media: str) -> bool:
    if media == JSON:
        return len(body) <= INLINE_OBJECT_BYTES
    return len(body) <= INLINE_BYTES and body.count(b"\n") <= INLINE_LINES


def _read(body: bytes, media: str, hold: Hold = uncounted, *, is_gzip: bool) -> list[bytes]:
    content = inflated(body, settings.LOOPSCOPE_LIMITS["inflated_bytes"], hold) if is_gzip else body
    if media == JSON:
        return [_one_line(content)]
    most = settings.LOOPSCOPE_LIMITS["body_lines"]
    if content.count(b"\n") > most:
        raise Fault(413, "too_large", f"a body has at most {most} lines, with the blank ones")
    return lines_of(content)


def _one_line(body: bytes) -> bytes:
    """Return one JSON object as a line; it may have been printed over several."""
    is_object = body.lstrip()[:1] == b"{"
    # One that is too large is refused as a line; to parse it would hold the GIL, and so the event loop.
    limits = settings.LOOPSCOPE_LIMITS
    if is_object and len(body) <= limits["event_bytes"] and not has_more_values(body, limits["event_values"]):
        is_object = _is_whole(body)
    if not is_object:
        raise Fault(400, "bad_body", f"{JSON} holds one JSON object")
    return body.replace(b"\r", b" ").replace(b"\n", b" ").strip()


def _is_whole(body: bytes) -> bool:
    """Return whether a body is one JSON value. jiter takes a quarter of the time, but refuses some."""
    try:
        from_json(body, cache_mode="keys")  # caching all strings takes twice as long, and holds the GIL
    except ValueError:
        try:
            json.loads(body)
        except (json.JSONDecodeError, UnicodeDecodeError):
            return False
        except (ValueError, RecursionError):  # too many digits, or too deep: the parser of lines decides
            return True
    return True
