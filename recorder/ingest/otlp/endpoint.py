"""The OTLP endpoints: `/v1/traces`, `/v1/logs` and `/v1/metrics`, also below `/otlp`.

Answers follow OTLP/HTTP: 200 with an export response after the commit, `partialSuccess` for rejected spans,
a google.rpc.Status otherwise. Only 429 and 503 are to be sent again. Metrics are counted and dropped.
"""

from __future__ import annotations

import logging
from functools import partial

from django.conf import settings

from recorder.access.client_address import scope_address
from recorder.asgi.scope import Receive, Scope, Send, header
from recorder.core.formats.structure import has_more_values, is_deeper, opening_brackets
from recorder.core.sources import OTLP
from recorder.database.errors import Busy
from recorder.ingest import metrics
from recorder.ingest.auth import Grant
from recorder.ingest.commit.span_backlog import PRODUCER
from recorder.ingest.commit.submit import submit
from recorder.ingest.http.content_encoding import ZSTD, encodings, inflated
from recorder.ingest.http.request import admitted, read_body
from recorder.ingest.http.response import JSON, Fault, Gone, note_fault, refused_by, send_content
from recorder.ingest.limits import rate_limit
from recorder.ingest.limits.decoding import Hold, decoding
from recorder.ingest.otlp import bodies
from recorder.ingest.otlp.bodies import Bounds, Signal, TooLarge, Unreadable
from recorder.journal.batch import Batch, Closed, Receipt

log = logging.getLogger(__name__)

PROTOBUF = "application/x-protobuf"
GRPC = "application/grpc"
IDENTITY = "identity"  # no content encoding
UNIMPLEMENTED = 12  # of google.rpc.Code
GRPC_MESSAGE = "OTLP/gRPC is not spoken here; set the protocol to http/protobuf and the path to /v1/"
SIGNALS: tuple[Signal, ...] = ("traces", "logs", "metrics")
_KEY_HEADERS = (b"api-key", b"x-api-key")
TOKEN_HEADERS = (b"authorization", *_KEY_HEADERS)
ALL_LINES = 2  # times the limit of an inflated body: its lines, each with resource and scope
MESSAGE_MAX = 300  # characters of the first rejection's reason


def with_authorization(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return headers with the token of `api-key` or `x-api-key` as a bearer token, if there is no other.

    Values of OTEL_EXPORTER_OTLP_HEADERS are percent-encoded. Claude Code 2.1 sends them as they are, so the
    encoded space after `Bearer` is decoded here.
    """
    if any(name == b"authorization" for name, _ in headers):
        return [(name, _spaced(value) if name == b"authorization" else value) for name, value in headers]
    keys = [value for name, value in headers if name in _KEY_HEADERS]
    return [*headers, (b"authorization", b"Bearer " + keys[0])] if keys else headers


def _spaced(authorization: bytes) -> bytes:
    scheme, _, token = authorization.strip().partition(b"%20")
    return b"Bearer " + token if scheme.lower() == b"bearer" else authorization


async def otlp_http(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one request to an OTLP endpoint."""
    signal = next(each for each in SIGNALS if scope["path"].rstrip("/").endswith(each))
    media = _media(scope["headers"])
    if media.startswith(GRPC):
        await otlp_grpc(scope, receive, send)
        return
    is_json = media == JSON
    try:
        content = await _answer(scope, receive, signal, is_json=is_json)
    except Gone:
        return
    except Fault as fault:
        await note_fault({**scope, "headers": with_authorization(scope["headers"])}, fault)
        kind, body = refusal(fault, media)
        await send_content(send, fault.status, body, **{**fault.headers, "content_type": kind})
        return
    await send_content(send, 200, content, content_type=JSON if is_json else PROTOBUF)


def refusal(fault: Fault, media: str) -> tuple[str, bytes]:
    """Return the content type and the content of the answer to a request of this type that is refused."""
    is_json = _bare(media) == JSON
    message = f"{fault.body['code']}: {fault}"
    return JSON if is_json else PROTOBUF, bodies.status(fault.status, message, is_json=is_json)


def _media(headers: list[tuple[bytes, bytes]]) -> str:
    return _bare(header(headers, b"content-type") or "")


def _bare(media: str) -> str:
    """Return a media type without its parameters."""
    return media.partition(";")[0].strip().lower()


async def otlp_grpc(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a client of OTLP/gRPC with a status that it shows: the address of its signal for OTLP/HTTP."""
    path = scope["path"].lower()
    message = GRPC_MESSAGE + next((each for each in SIGNALS if each.removesuffix("s") in path), SIGNALS[0])
    fault = Fault(415, "bad_media_type", message)
    await note_fault({**scope, "headers": with_authorization(scope["headers"])}, fault)
    # A gRPC client reads the status of a response without a body from its headers, whose HTTP status is 200.
    status = {"grpc_status": str(UNIMPLEMENTED), "grpc_message": message}
    await send_content(send, 200, b"", content_type=GRPC, **status)


async def _answer(scope: Scope, receive: Receive, signal: Signal, *, is_json: bool) -> bytes:
    try:
        receipt = await _take(scope, receive, signal, is_json=is_json)
    except Busy as busy:
        raise refused_by(busy) from None
    except Closed as closed:
        raise Fault(403, closed.code, str(closed)) from None
    except (Fault, Gone):
        raise
    except Exception:
        log.exception("a request cannot be recorded")
        raise Fault(500, "our_bug", "nothing is known to be stored") from None
    rejected = receipt.rejected if receipt is not None else []
    first = f"{rejected[0].code} {rejected[0].path}: {rejected[0].message}"[:MESSAGE_MAX] if rejected else ""
    return bodies.answer(signal, len(rejected), first, is_json=is_json)


async def _take(scope: Scope, receive: Receive, signal: Signal, *, is_json: bool) -> Receipt | None:
    if scope["method"] != "POST":
        raise Fault(405, "bad_method", "spans are sent by POST", allow="POST")
    headers = scope["headers"]
    grant: Grant = scope.get("grant") or await admitted(with_authorization(headers))
    encoding = _encoding(headers, is_json=is_json)
    body = await read_body(headers, receive)
    read = partial(_read, signal, body, is_json=is_json, encoding=encoding)
    lines, may_wait = await decoding.run(grant.token, body, read)
    if signal == "metrics":
        metrics.OTLP_METRICS.add(1)
        rate_limit.rates.count(grant.token, 0, len(body))
        return None
    if not lines:
        return None
    batch = Batch(
        *(grant.project, PRODUCER, None, lines, OTLP, grant.is_demo),
        token=grant.token,
        address=scope_address(scope),
        may_wait=may_wait,
    )
    return await submit(batch)


def _encoding(headers: list[tuple[bytes, bytes]], *, is_json: bool) -> str:
    if not is_json and _media(headers) != PROTOBUF:
        raise Fault(415, "bad_media_type", f"send {PROTOBUF} or {JSON}")
    encoding = (header(headers, b"content-encoding") or IDENTITY).lower()
    readable = encodings()
    if encoding not in (IDENTITY, *readable):
        text = f"send {', '.join(readable)} or no content encoding"
        missing = "; for zstd `loopscope[zstd]` has to be installed" if encoding == ZSTD else ""
        raise Fault(415, "bad_encoding", text + missing, accept_encoding=", ".join(readable))
    return encoding


def _read(
    signal: Signal, body: bytes, hold: Hold, *, is_json: bool, encoding: str
) -> tuple[list[bytes], bool]:
    """Return the lines of a body, and whether none of them can be rejected. Raises Fault or Busy."""
    bounds = _bounds(hold)
    content = body
    if encoding != IDENTITY:
        content = inflated(body, settings.LOOPSCOPE_LIMITS["inflated_bytes"], hold, encoding)
    try:
        lines, have_ids = bodies.lines_of(signal, content, is_json=is_json, bounds=bounds)
    except Unreadable as error:
        raise Fault(400, "bad_body", str(error)) from None
    except TooLarge as error:
        raise Fault(413, "too_large", str(error)) from None
    return lines, have_ids and all(map(_is_within_limits, lines))


def _bounds(hold: Hold) -> Bounds:
    limits = settings.LOOPSCOPE_LIMITS
    return Bounds(
        lines=limits["body_lines"],
        line_bytes=limits["event_bytes"],
        all_bytes=ALL_LINES * limits["inflated_bytes"],
        line_values=limits["event_values"],
        values=limits["body_values"],
        hold=hold,
    )


def _is_within_limits(line: bytes) -> bool:
    """Return whether a line is surely accepted; one that is not is parsed before it is acknowledged."""
    limits = settings.LOOPSCOPE_LIMITS
    return (
        len(line) <= limits["event_bytes"]
        and b"NaN" not in line
        and b"Infinity" not in line
        and not has_more_values(line, limits["event_values"])
        and (opening_brackets(line) <= limits["depth"] or not is_deeper(line, limits["depth"]))
    )
