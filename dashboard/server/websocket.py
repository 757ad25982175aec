"""The server's side of a WebSocket: Daphne's protocol, with back-pressure in both directions.

Stock Daphne puts every message into an unbounded queue and every answer into an unbounded buffer. Here:

- **Reading.** The application asks for a message by `Inbox.get`. The TCP connection is read only while three
  things hold: the application has asked for a message after the handshake, so a consumer that authenticates
  in `connect` does so before any of the client's messages is read; fewer than `QUEUED_MESSAGES` and
  `QUEUED_BYTES` wait in the inbox; the budget of the process (`recorder/ingest/byte_budget.py`) granted the
  frame that began last. Otherwise the transport is paused, the kernel's buffer fills, and TCP stops the
  client.
- **Writing.** Twisted says when a client reads slower than we write; what is written from then on is
  counted. A client that leaves more than `UNSENT_BYTES` unread is dropped. To wait for it instead would make
  the hub and the writer wait, which serve all clients.

Invariants: an inbox holds at most `QUEUED_BYTES`, one message and what one read of the connection brought.
Every byte taken from the budget is given back once: when the application takes the message, when it is
dropped, or in `_settle`. While a socket closes it is read, and what comes is dropped: for bytes left unread
the kernel resets the connection, and the client does not see the close code.

Cost: a few comparisons a message; the transport is paused or resumed only when the answer changes.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import Any

from daphne.ws_protocol import WebSocketProtocol
from django.conf import settings

from recorder.ingest.byte_budget import budget

ABNORMAL = 1006  # no close frame at all: a page that sees it comes back
SILENT, ABUSE = 4408, 4429
INGEST = b"/ingest/"
QUEUED_MESSAGES, QUEUED_BYTES = 32, 1024 * 1024
UNSENT_BYTES = 1024 * 1024
READ_BYTES = 256 * 1024  # at once; Twisted's 64 KiB take a frame of events in many pieces
PAGE_BYTES = 4 * 1024  # what an open page says is an acknowledgement
FRAGMENTS = 1_024  # of one message
RATE_FLOOR = 8 * 1024  # bytes a second of a message that has begun, after `silence_s`


class Inbox(asyncio.Queue[dict[str, Any]]):
    """What the application of one socket has yet to take."""

    def __init__(self, socket: Socket) -> None:
        super().__init__()
        self._socket = socket
        self._asked = 0

    @property
    def is_open(self) -> bool:
        """Whether the application wants messages: the first thing it takes is the connection itself."""
        return self._asked > 1

    async def get(self) -> dict[str, Any]:
        self._asked += 1
        self._socket.regulate()
        message = await super().get()
        if message["type"] == "websocket.receive":
            self._socket.taken()
        return message


class Socket(WebSocketProtocol):  # type: ignore[misc]  # Daphne ships no types
    """A WebSocket that closes with any code, notices silence, and holds little of what it reads or sends."""

    def onConnect(self, request: Any) -> Any:  # noqa: N802  autobahn's name
        self.heard_at = time.monotonic()
        self.inbox = Inbox(self)
        self.is_deaf = False
        self._sizes: deque[int] = deque()  # of the messages in the inbox
        self._partial = 0  # bytes of a message that has begun, as far as the budget grants them
        self._begun_at = 0.0
        self._fragments = 0
        self._wanted = 0  # bytes that the budget has yet to grant
        self._is_paused = False
        self._is_behind = False  # the client reads slower than we write
        self._unsent = 0
        if not request.path.startswith(INGEST.decode()):
            self.maxFramePayloadSize = PAGE_BYTES  # that of a message would hold what we send to it, too
        return super().onConnect(request)

    def onOpen(self) -> None:  # noqa: N802
        super().onOpen()
        self.transport.unregisterProducer()  # the HTTP channel it was
        self.transport.registerProducer(self, True)  # noqa: FBT003  Twisted's order
        if self.path.startswith(INGEST):
            self.transport.bufferSize = READ_BYTES
        self.regulate()

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        # Not super's, which words a line of a log for each piece, and drops it.
        self._dataReceived(data)
        if hasattr(self, "inbox"):  # else the handshake was refused
            self.regulate()

    def onMessageFrameBegin(self, length: int) -> None:  # noqa: N802
        # The frame's header is read and its body is not: the budget is asked before the body takes memory.
        super().onMessageFrameBegin(length)
        self._fragments += 1
        if self.failedByMe:
            return
        if self._fragments > FRAGMENTS:
            self.is_deaf = True
            self.end(ABUSE)
            return
        if self._fragments == 1:
            self._begun_at = time.monotonic()
        if self._wanted:  # paused already; what Twisted had read on is here and counts all the same
            budget.take(length)
        elif not budget.ask(length, self._granted):
            self._wanted = length
            return
        self._partial += length

    def onMessage(self, payload: bytes, isBinary: bool) -> None:  # noqa: FBT001, N802, N803
        self.heard_at = time.monotonic()
        if self._wanted:  # all of it was here already when the budget was spent
            budget.forget(self._granted)
            budget.take(self._wanted)
            self._granted()
        size, self._partial, self._fragments = self._partial, 0, 0
        if self.is_deaf or self.muted:
            budget.give(size)
            return
        self._sizes.append(size)
        try:
            super().onMessage(payload, isBinary)
        except UnicodeDecodeError:
            self.taken()
            self._invalid_payload("a text message is UTF-8")

    def onPong(self, payload: bytes) -> None:  # noqa: N802
        self.heard_at = time.monotonic()

    def onClose(self, wasClean: bool, code: int, reason: str) -> None:  # noqa: FBT001, N802, N803
        if hasattr(self, "inbox"):
            self._settle()
            super().onClose(wasClean, code, reason)

    def taken(self) -> None:
        """Note that the application has taken a message."""
        if self._sizes:
            budget.give(self._sizes.popleft())

    def regulate(self) -> None:
        """Read on or pause. Called whenever the answer may have changed."""
        is_connecting = self.state == self.STATE_CONNECTING
        may_read = self.is_deaf or self.failedByMe or (not is_connecting and self._has_room)
        if may_read and self._is_paused:
            self._is_paused = False
            # While we did not read, the client could not be heard: its silence and its rate count from now.
            self.heard_at = self._begun_at = time.monotonic()
            self.transport.resumeProducing()
        elif not may_read and (is_connecting or not self._is_paused):
            self._is_paused = True
            self.transport.pauseProducing()

    @property
    def _has_room(self) -> bool:
        is_full = len(self._sizes) >= QUEUED_MESSAGES or sum(self._sizes) >= QUEUED_BYTES
        return self.inbox.is_open and not is_full and not self._wanted

    def pauseProducing(self) -> None:  # noqa: N802  Twisted says so when the client does not keep up
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
        # What still comes is read and dropped: left unread it would reset the connection and hide the code.
        self.is_deaf = True
        self.regulate()
        # autobahn's own sendClose refuses 1001 and 1003, which are right here.
        self.sendCloseFrame(code=code or 1000)

    def check_timeouts(self) -> None:
        now = time.monotonic()
        if self.state == self.STATE_OPEN and not self._is_paused:
            patience = settings.LOOPSCOPE_LIMITS["silence_s"]
            is_within = self._fragments and now - self._begun_at < patience + self._partial / RATE_FLOOR
            if now - self.heard_at > patience and not is_within:
                self.end(SILENT)
        super().check_timeouts()

    def end(self, code: int) -> None:
        """Close with `code`, or so that a page comes back by itself: any code of ours would keep it away."""
        self.serverClose(code if self.path.startswith(INGEST) else ABNORMAL)

    def _granted(self) -> None:
        self._partial += self._wanted
        self._wanted = 0
        self.regulate()

    def _settle(self) -> None:
        """Give back what was held."""
        budget.forget(self._granted)
        budget.give(self._partial + sum(self._sizes))
        self._sizes.clear()
        self._partial = self._wanted = 0
