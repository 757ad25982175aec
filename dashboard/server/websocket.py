"""The server's side of a WebSocket: Daphne's protocol, with back-pressure in both directions.

Stock Daphne puts every message into an unbounded queue and every answer into an unbounded buffer. Here:

- **Reading.** The application takes a message by `Inbox.get`. The TCP connection is read only while three
  conditions hold: the application has called `get` again after the handshake, so a consumer that
  authenticates in `connect` does so before any of the client's messages is read; fewer than `QUEUED_MESSAGES`
  and `QUEUED_BYTES` wait in the inbox; the budget of the process (`recorder/ingest/byte_budget.py`) granted
  the frame that began last. Otherwise the transport is paused, the kernel's buffer fills, and TCP stops the
  client.
- **Writing.** Twisted reports when a client reads slower than the server writes; bytes written from then on
  are counted. A client that leaves more than `UNSENT_BYTES` unread is dropped. Waiting for it instead would
  block the hub and the writer, which serve all clients.

Invariants: an inbox holds at most `QUEUED_BYTES`, one message and the result of one read of the connection.
Every byte taken from the budget is returned once: when the application takes the message, when it is dropped,
or in `_settle`. A closing socket is read and its messages are discarded: with unread bytes the kernel resets
the connection, and the client does not see the close code.

Cost: a few comparisons per message; the transport is paused or resumed only when the answer changes.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import Any

from daphne.ws_protocol import WebSocketProtocol
from django.conf import settings

from recorder.ingest.byte_budget import budget

ABNORMAL = 1006  # no close frame: a page that sees it reconnects
SILENT, ABUSE = 4408, 4429
INGEST = b"/ingest/"
QUEUED_MESSAGES, QUEUED_BYTES = 32, 1024 * 1024
UNSENT_BYTES = 1024 * 1024
READ_BYTES = 256 * 1024  # per read; with Twisted's 64 KiB a frame of events takes many reads
PAGE_BYTES = 4 * 1024  # maximum of a frame from a page, which only sends acknowledgements
FRAGMENTS = 1_024  # maximum of one message
RATE_FLOOR = 8 * 1024  # bytes per second of an incomplete message, after `silence_s`


class Inbox(asyncio.Queue[dict[str, Any]]):
    """Messages of one socket that the application has not taken yet."""

    def __init__(self, socket: Socket) -> None:
        super().__init__()
        self._socket = socket
        self._gets = 0  # calls of `get`

    @property
    def is_open(self) -> bool:
        """Whether the application waits for client messages; its first `get` returns `websocket.connect`."""
        return self._gets > 1

    async def get(self) -> dict[str, Any]:
        self._gets += 1
        self._socket.regulate()
        message = await super().get()
        if message["type"] == "websocket.receive":
            self._socket.release_oldest()
        return message


class Socket(WebSocketProtocol):  # type: ignore[misc]  # Daphne ships no types
    """A WebSocket with bounded buffers in both directions, a silence timeout, and any close code."""

    def onConnect(self, request: Any) -> Any:  # noqa: N802  autobahn's name
        self.received_at = time.monotonic()
        self.inbox = Inbox(self)
        self.is_discarding = False
        self._sizes: deque[int] = deque()  # of the messages in the inbox
        self._partial = 0  # bytes of the incomplete message that the budget has granted
        self._begun_at = 0.0
        self._fragments = 0
        self._wanted = 0  # bytes that the budget has not granted yet; 0 while none are requested
        self._is_paused = False
        self._is_behind = False  # the client reads slower than the server writes
        self._unsent = 0  # bytes written since it fell behind
        if not request.path.startswith(INGEST.decode()):
            self.maxFramePayloadSize = PAGE_BYTES  # maxMessagePayloadSize would limit sending, too
        return super().onConnect(request)

    def onOpen(self) -> None:  # noqa: N802
        super().onOpen()
        self.transport.unregisterProducer()  # the HTTP channel of the handshake
        self.transport.registerProducer(self, True)  # noqa: FBT003  Twisted's order
        if self.path.startswith(INGEST):
            self.transport.bufferSize = READ_BYTES
        self.regulate()

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        # Not super's, which formats a log message for each read even when it is not logged.
        self._dataReceived(data)
        if hasattr(self, "inbox"):  # else the handshake was refused
            self.regulate()

    def onMessageFrameBegin(self, length: int) -> None:  # noqa: N802
        # The header is parsed and the body is not read yet: the budget is requested before memory is used.
        super().onMessageFrameBegin(length)
        self._fragments += 1
        if self.failedByMe:
            return
        if self._fragments > FRAGMENTS:
            self.is_discarding = True
            self.end(ABUSE)
            return
        if self._fragments == 1:
            self._begun_at = time.monotonic()
        # Already paused for the budget: Twisted had read these bytes before, so they are in memory and count.
        if self._wanted:
            budget.take(length)
        elif not budget.ask(length, self._granted):
            self._wanted = length
            return
        self._partial += length

    def onMessage(self, payload: bytes, isBinary: bool) -> None:  # noqa: FBT001, N802, N803
        self.received_at = time.monotonic()
        # Complete although the budget has not granted it: the bytes were read before the pause and are in
        # memory.
        if self._wanted:
            budget.forget(self._granted)
            budget.take(self._wanted)
            self._granted()
        size, self._partial, self._fragments = self._partial, 0, 0
        if self.is_discarding or self.muted:
            budget.give(size)
            return
        self._sizes.append(size)
        try:
            super().onMessage(payload, isBinary)
        except UnicodeDecodeError:
            self.release_oldest()
            self._invalid_payload("a text message must be UTF-8")

    def onPong(self, payload: bytes) -> None:  # noqa: N802
        self.received_at = time.monotonic()

    def onClose(self, wasClean: bool, code: int, reason: str) -> None:  # noqa: FBT001, N802, N803
        if hasattr(self, "inbox"):
            self._settle()
            super().onClose(wasClean, code, reason)

    def release_oldest(self) -> None:
        """Return the bytes of the oldest queued message to the budget: the application has taken it."""
        if self._sizes:
            budget.give(self._sizes.popleft())

    def regulate(self) -> None:
        """Resume or pause reading. Called whenever one of the conditions may have changed."""
        is_connecting = self.state == self.STATE_CONNECTING
        may_read = self.is_discarding or self.failedByMe or (not is_connecting and self._has_room)
        if may_read and self._is_paused:
            self._is_paused = False
            # Messages could not arrive during the pause, so silence and rate are measured from now.
            self.received_at = self._begun_at = time.monotonic()
            self.transport.resumeProducing()
        elif not may_read and (is_connecting or not self._is_paused):
            self._is_paused = True
            self.transport.pauseProducing()

    @property
    def _has_room(self) -> bool:
        is_full = len(self._sizes) >= QUEUED_MESSAGES or sum(self._sizes) >= QUEUED_BYTES
        return self.inbox.is_open and not is_full and not self._wanted

    def pauseProducing(self) -> None:  # noqa: N802  Twisted: the client does not keep up
        self._is_behind = True

    def resumeProducing(self) -> None:  # noqa: N802
        self._is_behind = False
        self._unsent = 0

    def stopProducing(self) -> None:  # noqa: N802
        self._is_behind = False

    def serverSend(self, content: str | bytes, binary: bool = False) -> None:  # noqa: FBT001, FBT002, N802
        if self._unsent > UNSENT_BYTES:
            self.dropConnection(abort=True)
            return
        super().serverSend(content, binary)
        self._unsent = self._unsent + len(content) if self._is_behind else 0

    def serverClose(self, code: int | None = None) -> None:  # noqa: N802
        if code == ABNORMAL:
            self.dropConnection(abort=True)
            return
        # Reading goes on and messages are discarded: unread bytes would reset the connection and hide the
        # code.
        self.is_discarding = True
        self.regulate()
        # autobahn's own sendClose rejects 1001 and 1003, which the protocol uses.
        self.sendCloseFrame(code=code or 1000)

    def check_timeouts(self) -> None:
        now = time.monotonic()
        if self.state == self.STATE_OPEN and not self._is_paused:
            silence_s = settings.LOOPSCOPE_LIMITS["silence_s"]
            # A large message may take longer than `silence_s`, as long as it arrives at the minimum rate.
            is_receiving = self._fragments and now - self._begun_at < silence_s + self._partial / RATE_FLOOR
            if now - self.received_at > silence_s and not is_receiving:
                self.end(SILENT)
        super().check_timeouts()

    def end(self, code: int) -> None:
        """Close an ingest socket with `code`; drop a page socket, because pages reconnect only after 1006."""
        self.serverClose(code if self.path.startswith(INGEST) else ABNORMAL)

    def _granted(self) -> None:
        """Resume reading after the budget has granted the requested bytes."""
        self._partial += self._wanted
        self._wanted = 0
        self.regulate()

    def _settle(self) -> None:
        """Return all bytes of this socket to the budget."""
        budget.forget(self._granted)
        budget.give(self._partial + sum(self._sizes))
        self._sizes.clear()
        self._partial = self._wanted = 0
