"""HTTP as our server speaks it: a request is refused by what its headers say and by what is counted, in time.

Stock Daphne takes a body of any length into a temporary file, from anyone, before the application runs.
"""

from __future__ import annotations

import asyncio
import json
import time
from io import BytesIO
from typing import Any

from daphne.http_protocol import WebRequest
from django.conf import settings
from twisted.internet.error import ConnectionDone
from twisted.python.failure import Failure
from twisted.web import http

from recorder.database.errors import Busy
from recorder.ingest.auth import Grant
from recorder.ingest.byte_budget import budget
from recorder.ingest.http import Fault, admitted, refused_by, too_large

INGEST = b"/ingest/v1/events"
PAGE_BYTES = 64 * 1024  # of a form
EARLY_BYTES = 64 * 1024  # a longer body is read only once its token has been looked up
RATE_FLOOR = 1024  # bytes a second
RECHECK_S = 5.0
LINGER_S = 2.0
LINGER_BYTES, KNOWN_LINGER_BYTES = 4 * 1024 * 1024, 32 * 1024 * 1024


class Request(WebRequest):  # type: ignore[misc]  # Daphne ships no types
    """A request whose body stays in memory, is counted as it comes, and counts in the budget."""

    def __init__(self, channel: Any, queued: Any = False) -> None:  # noqa: FBT002  Twisted's order
        super().__init__(channel, queued, parsePOSTFormSubmission=False)
        self.received = 0
        self.limit = 0
        self._grant: Grant | None = None
        self._granted_at = 0.0
        self._held = 0

    def hold(self, size: int) -> bool:
        """Take `size` bytes of the budget, if they are there."""
        if not budget.fits(size):
            return False
        budget.take(size)
        self._held += size
        return True

    def note(self, grant: Grant) -> None:
        """Keep what its token allows."""
        self._grant, self._granted_at = grant, time.monotonic()

    def noted(self) -> Grant | None:
        """Return what its token allows, if that was asked just now: a body may take long to come."""
        return self._grant if time.monotonic() - self._granted_at < RECHECK_S else None

    def gotLength(self, length: int | None) -> None:  # noqa: N802  Twisted's names from here on
        self.content = BytesIO()

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802
        channel: Channel | None = self.channel
        self.received += len(data)
        if channel is None:  # refused
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
    _late: Any = None
    _has_headers = False
    _is_looking = False
    _may_discard = LINGER_BYTES

    def connectionMade(self) -> None:  # noqa: N802
        super().connectionMade()
        self.requestFactory = Request
        self._expect_headers()

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        if self.is_ending:
            self._discard(data)
            return
        if not self._has_headers and self._late is None:
            self._expect_headers()
        super().dataReceived(data)

    def rawDataReceived(self, data: bytes) -> None:  # noqa: N802
        if self.is_ending:
            self._discard(data)
        else:
            super().rawDataReceived(data)

    def allHeadersReceived(self) -> None:  # noqa: N802
        self._expect_nothing()
        self._has_headers = True
        if self.length != 0:
            fault = self._fault()
            if fault is not None:
                self.refuse(fault)
                return
            self._expect_body(0)
        super().allHeadersReceived()

    def allContentReceived(self) -> None:  # noqa: N802
        self._expect_nothing()
        if not self.is_ending:
            super().allContentReceived()

    def requestDone(self, request: Request) -> None:  # noqa: N802
        self._has_headers = False
        super().requestDone(request)

    def connectionLost(self, reason: Any) -> None:  # noqa: N802
        self._expect_nothing()
        super().connectionLost(reason)

    def refuse(self, fault: Fault) -> None:
        """Answer before the body has come, and end; for a moment more is read so that the answer is seen."""
        self.is_ending = True
        self._expect_nothing()
        for request in self.requests:
            request.connectionLost(Failure(ConnectionDone()))
        self.requests.clear()
        self.transport.write(_answer(fault))
        self.transport.loseWriteConnection()
        self.setTimeout(None)
        self._late = self.callLater(LINGER_S, self.transport.abortConnection)
        self.transport.resumeProducing()

    def _fault(self) -> Fault | None:
        """Return why a request is refused for its headers alone."""
        request: Request = self.requests[-1]
        is_ingest = self._path.partition(b"?")[0] == INGEST
        request.limit = settings.LOOPSCOPE_LIMITS["body_bytes"] if is_ingest else PAGE_BYTES
        length = self.length
        if is_ingest and (length is None or length > EARLY_BYTES):
            self._look_up(request)
        if length is not None and length > request.limit and not self._is_looking:
            return too_large(request.limit)
        if length is not None and length <= request.limit and not request.hold(length):
            return refused_by(Busy("busy"))
        return None

    def _look_up(self, request: Request) -> None:
        """Read no further until the token is known to be good."""
        self._is_looking = True
        self.transport.pauseProducing()
        self._looking = asyncio.ensure_future(self._admit(request, self.length))

    async def _admit(self, request: Request, length: int | None) -> None:
        given = request.requestHeaders.getRawHeaders(b"authorization", [])
        fault: Fault | None = None
        try:
            request.note(await admitted([(b"authorization", value) for value in given]))
        except Fault as refused:
            fault = refused
        except Busy as busy:
            fault = refused_by(busy)
        self._is_looking = False
        if fault is None:
            self._may_discard = KNOWN_LINGER_BYTES
        if length is not None and length > request.limit:
            fault = fault or too_large(request.limit)
        if request not in self.requests or self._handlingRequest:
            return
        if fault is not None:
            self.refuse(fault)
        else:
            self.transport.resumeProducing()

    def _expect_headers(self) -> None:
        self._late = self.callLater(settings.LOOPSCOPE_LIMITS["slow_s"], self._is_too_slow)

    def _expect_body(self, before: int) -> None:
        """Look again in a while whether enough of the body has come since."""
        patience = settings.LOOPSCOPE_LIMITS["slow_s"]
        self._late = self.callLater(patience, self._judge_body, before + patience * RATE_FLOOR)

    def _judge_body(self, least: int) -> None:
        request: Request = self.requests[-1]
        if self._is_looking or request.received >= least:
            self._expect_body(request.received)
        else:
            self._is_too_slow()

    def _expect_nothing(self) -> None:
        if self._late is not None and self._late.active():
            self._late.cancel()
        self._late = None

    def _is_too_slow(self) -> None:
        self._late = None
        if self.requests:
            self.refuse(Fault(408, "too_slow", "the request did not come in time"))
        else:
            self.transport.loseConnection()

    def _discard(self, data: bytes) -> None:
        self._may_discard -= len(data)
        if self._may_discard < 0:
            self.transport.abortConnection()


def _answer(fault: Fault) -> bytes:
    """Return an answer as it goes over the wire."""
    content = json.dumps(fault.body, separators=(",", ":")).encode()
    phrase = http.RESPONSES.get(fault.status, b"Refused")
    headers = {
        "content-type": "application/json",
        "content-length": str(len(content)),
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
        "connection": "close",
        "server": "loopscope",
    } | {name.replace("_", "-"): value for name, value in fault.headers.items()}
    lines = [f"{name}: {value}".encode() for name, value in headers.items()]
    return b"\r\n".join([b"HTTP/1.1 %d %s" % (fault.status, phrase), *lines, b"", content])
