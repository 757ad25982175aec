"""The HTTP channel: limits on bodies, slow headers and slow bodies, applied before the application runs.

Stock Daphne stores a body of any length in a temporary file, from any client, and starts the application when
it is complete. Here a request passes these checks while it is received:

- **Headers** must be complete within `slow_s` seconds, else 408; a line of them that is too long is a 431.
- **Size**: at most `body_bytes` for ingest and `PAGE_BYTES` for forms, by Content-Length and by counting;
  else 413.
- **Authentication**: for an ingest body longer than `EARLY_BYTES`, or of unknown length, reading pauses until
  the token is found valid; else 401 or 403 without reading the body.
- **Chunks**: their framing is at most `FRAMING_BYTES` and a `FRAMING_SHARE`th of the body, else 413.
- **Memory**: every byte of a body is taken from the budget of the process
  (`recorder/ingest/limits/byte_budget.py`); 503 `busy` when the budget is used up.
- **Rate**: at least `RATE_FLOOR` bytes a second in each period of `slow_s` seconds, else 408.

A refused request is answered at once, on the paths of OTLP with the status that its senders read. The rest of
the body is then read and discarded for `LINGER_S` seconds, as closing with unread bytes resets the connection
and hides the answer.

Invariants: every byte taken from the budget is returned once, in `_settle`; at most one timer runs per
connection (`_timer`). Cost: a few comparisons per read, one timer per request phase.
"""

from __future__ import annotations

import asyncio
import json
import time
from io import BytesIO
from itertools import product
from typing import Any

from daphne.http_protocol import WebRequest
from django.conf import settings
from twisted.internet.error import ConnectionDone
from twisted.python.failure import Failure
from twisted.web import http

from recorder.database.errors import Busy
from recorder.ingest.auth import Grant
from recorder.ingest.http.request import admitted
from recorder.ingest.http.response import JSON, Fault, refused_by, too_large
from recorder.ingest.limits.byte_budget import budget
from recorder.ingest.otlp.endpoint import SIGNALS, TOKEN_HEADERS, refusal, with_authorization

OTLP = frozenset(
    b"%s/v1/%s" % pair for pair in product((b"", b"/otlp"), (signal.encode() for signal in SIGNALS))
)
INGEST = OTLP | {b"/ingest/v1/events"}
PAGE_BYTES = 64 * 1024  # maximum of a form
EARLY_BYTES = 64 * 1024  # a longer ingest body is read only after its token was found valid
RATE_FLOOR = 1024  # bytes per second
RECHECK_S = 2.0  # for which a token that was found valid need not be looked up again
FRAMING_BYTES, FRAMING_SHARE = 16 * 1024, 16  # of chunks: so many bytes, and one for so many of the body
DECODED_BYTES = 8 * 1024  # of chunks between two checks of their framing: each may cost microseconds
LINGER_S = 2.0  # for which a refused body is read and discarded
LINGER_BYTES, TRUSTED_LINGER_BYTES = 4 * 1024 * 1024, 32 * 1024 * 1024  # discarded at most


class Request(WebRequest):  # type: ignore[misc]  # Daphne ships no types
    """A request whose body is held in memory, counted on arrival and taken from the budget."""

    def __init__(self, channel: Any, queued: Any = False) -> None:  # noqa: FBT002  Twisted's order
        super().__init__(channel, queued, parsePOSTFormSubmission=False)
        self.received = 0
        self.limit = 0
        self._grant: Grant | None = None
        self._granted_at = 0.0
        self._held = 0

    def hold(self, size: int) -> bool:
        """Take `size` bytes from the budget; return False if it has too few."""
        if not budget.fits(size):
            return False
        budget.take(size)
        self._held += size
        return True

    def note(self, grant: Grant) -> None:
        """Cache what the request's token allows."""
        self._grant, self._granted_at = grant, time.monotonic()

    def recent_grant(self) -> Grant | None:
        """Return the cached grant; None after `RECHECK_S`, as a body may take long to arrive."""
        return self._grant if time.monotonic() - self._granted_at < RECHECK_S else None

    def gotLength(self, length: int | None) -> None:  # noqa: N802  Twisted's names from here on
        self.content = BytesIO()

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802
        channel: Channel | None = self.channel
        self.received += len(data)
        if channel is None:  # the request was refused meanwhile
            return
        if self.received > self.limit:
            channel.refuse(too_large(self.limit))
        elif self.received > self._held and not self.hold(self.received - self._held):
            channel.refuse(refused_by(Busy("busy")))
        else:
            super().handleContentChunk(data)

    def finish(self) -> None:
        self._settle()
        super().finish()

    def handle_exception(self, exception: BaseException) -> None:
        """Answer 500; close the connection of a response that has begun: it must not look complete."""
        if self._response_started and self.channel is not None:
            self.channel.transport.abortConnection()
        else:
            super().handle_exception(exception)

    def connectionLost(self, reason: Any) -> None:  # noqa: N802
        self._settle()
        super().connectionLost(reason)

    def _settle(self) -> None:
        held, self._held = self._held, 0
        budget.give(held)


class Channel(http.HTTPChannel):  # type: ignore[misc]  # its base is untyped
    """One connection, until it becomes a WebSocket or ends."""

    requests: list[Request]
    is_ending = False
    _path = b""  # Twisted deletes its own between two requests
    _timer: Any = None  # of the current phase
    _has_headers = False
    _is_authenticating = False
    _may_discard = LINGER_BYTES
    _raw = 0  # bytes of the current body as sent, with the framing of its chunks

    def connectionMade(self) -> None:  # noqa: N802
        super().connectionMade()
        self.requestFactory = Request
        self._expect_headers()

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        if self.is_ending:
            self._discard(data)
            return
        if not self._has_headers and self._timer is None:
            self._expect_headers()
        super().dataReceived(data)

    def lineLengthExceeded(self, line: bytes) -> None:  # noqa: N802
        """Answer before the connection is closed; Twisted only closes it."""
        message = f"an address and its headers have at most {self.totalHeadersSize} bytes"
        self.refuse(Fault(431, "too_large", message))

    def rawDataReceived(self, data: bytes) -> None:  # noqa: N802
        if self.is_ending:
            self._discard(data)
            return
        if not self.requests or self.length is not None:
            super().rawDataReceived(data)
        else:
            self._decode_chunks(self.requests[-1], data)

    def _decode_chunks(self, request: Request, data: bytes) -> None:
        """Decode in parts: each chunk costs some microseconds on the event loop, however little it holds."""
        for start in range(0, len(data), DECODED_BYTES):
            part, end = data[start : start + DECODED_BYTES], start + DECODED_BYTES
            self._raw += len(part)
            super().rawDataReceived(part)
            if self.is_ending or self.transport.disconnecting:  # refused, or not a chunk
                self._discard(data[end:])
                return
            if self.length is not None:  # the body is complete; what follows is another request
                if rest := data[end:]:
                    (self.dataReceived if self.line_mode else super().rawDataReceived)(rest)
                return
            if self._framing_is_too_long(request):
                self.refuse(Fault(413, "too_large", "the chunks of the body are too small"))
                self._discard(data[end:])
                return

    def _framing_is_too_long(self, request: Request) -> bool:
        return self._raw - request.received > FRAMING_BYTES + request.received // FRAMING_SHARE

    def allHeadersReceived(self) -> None:  # noqa: N802
        self._cancel_timer()
        self._has_headers = True
        self._raw = 0
        if self.length != 0:
            fault = self._fault()
            if fault is not None:
                self.refuse(fault)
                return
            self._expect_body(0)
        super().allHeadersReceived()

    def allContentReceived(self) -> None:  # noqa: N802
        self._cancel_timer()
        if not self.is_ending:
            super().allContentReceived()

    def requestDone(self, request: Request) -> None:  # noqa: N802
        self._has_headers = False
        super().requestDone(request)

    def connectionLost(self, reason: Any) -> None:  # noqa: N802
        self._cancel_timer()
        super().connectionLost(reason)

    def refuse(self, fault: Fault) -> None:
        """Answer before the body is complete; discard the rest so that the client reads the answer; close."""
        response = self._response(fault)
        self.is_ending = True
        self._cancel_timer()
        for request in self.requests:
            request.connectionLost(Failure(ConnectionDone()))
        self.requests.clear()
        self.transport.write(response)
        self.transport.loseWriteConnection()
        self.setTimeout(None)
        self._timer = self.callLater(LINGER_S, self.transport.abortConnection)
        self.transport.resumeProducing()

    def _response(self, fault: Fault) -> bytes:
        """Return the bytes of the response that refuses the current request."""
        if self._endpoint() not in OTLP:
            return _response_bytes(fault, JSON, json.dumps(fault.body, separators=(",", ":")).encode())
        (media, *_) = self.requests[-1].requestHeaders.getRawHeaders(b"content-type", [b""])
        return _response_bytes(fault, *refusal(fault, media.decode("latin-1")))

    def _endpoint(self) -> bytes:
        """Return the path of the current request without its query and a slash at its end."""
        return self._path.partition(b"?")[0].rstrip(b"/")

    def _fault(self) -> Fault | None:
        """Return why its headers alone refuse a request; start authentication of a large ingest body."""
        request: Request = self.requests[-1]
        is_ingest = self._endpoint() in INGEST
        request.limit = settings.LOOPSCOPE_LIMITS["body_bytes"] if is_ingest else PAGE_BYTES
        length = self.length
        if is_ingest and (length is None or length > EARLY_BYTES):
            self._authenticate(request)
        # With an unknown token the answer is 401, not 413: `_admit` decides when the token was looked up.
        if length is not None and length > request.limit and not self._is_authenticating:
            return too_large(request.limit)
        if length is not None and length <= request.limit and not request.hold(length):
            return refused_by(Busy("busy"))
        return None

    def _authenticate(self, request: Request) -> None:
        """Pause reading until the token was found valid."""
        self._is_authenticating = True
        self.transport.pauseProducing()
        self._authentication = asyncio.ensure_future(self._admit(request, self.length))

    async def _admit(self, request: Request, length: int | None) -> None:
        named = ((name, request.requestHeaders.getRawHeaders(name, [])) for name in TOKEN_HEADERS)
        headers = [(name, value) for name, values in named for value in values]
        fault: Fault | None = None
        try:
            request.note(await admitted(with_authorization(headers)))
        except Fault as refused:
            fault = refused
        except Busy as busy:
            fault = refused_by(busy)
        self._is_authenticating = False
        if fault is None:
            self._may_discard = TRUSTED_LINGER_BYTES
        if length is not None and length > request.limit:
            fault = fault or too_large(request.limit)
        # The connection ended, or the request was refused or completed while its token was looked up.
        if request not in self.requests or self._handlingRequest:
            return
        if fault is not None:
            self.refuse(fault)
        else:
            self.transport.resumeProducing()

    def _expect_headers(self) -> None:
        self._timer = self.callLater(settings.LOOPSCOPE_LIMITS["slow_s"], self._time_out)

    def _expect_body(self, before: int) -> None:
        """Start a period of `slow_s` seconds in which `RATE_FLOOR` bytes a second must arrive."""
        period = settings.LOOPSCOPE_LIMITS["slow_s"]
        self._timer = self.callLater(period, self._check_rate, before + period * RATE_FLOOR)

    def _check_rate(self, least: int) -> None:
        request: Request = self.requests[-1]
        # While the token is looked up we do not read, so the client is not to blame.
        if self._is_authenticating or request.received >= least:
            self._expect_body(request.received)
        else:
            self._time_out()

    def _cancel_timer(self) -> None:
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None

    def _time_out(self) -> None:
        self._timer = None
        if self.requests:
            self.refuse(Fault(408, "too_slow", "the request was received too slowly"))
        else:
            self.transport.loseConnection()

    def _discard(self, data: bytes) -> None:
        self._may_discard -= len(data)
        if self._may_discard < 0:
            self.transport.abortConnection()


def _response_bytes(fault: Fault, media: str, content: bytes) -> bytes:
    """Return the bytes of an HTTP response that ends its connection."""
    phrase = http.RESPONSES.get(fault.status, b"Refused")
    headers = {
        "content-type": media,
        "content-length": str(len(content)),
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
        "connection": "close",
        "server": "loopscope",
    } | {name.replace("_", "-"): value for name, value in fault.headers.items()}
    lines = [f"{name}: {value}".encode() for name, value in headers.items()]
    return b"\r\n".join([b"HTTP/1.1 %d %s" % (fault.status, phrase), *lines, b"", content])
