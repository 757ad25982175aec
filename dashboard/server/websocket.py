"""The server's side of a WebSocket: Daphne's protocol, with back-pressure in both directions.

Stock Daphne puts every message into an unbounded queue and every answer into an unbounded buffer. Here:

- **Reading.** The application takes a message by `Inbox.get`. The TCP connection is read only while three
  conditions hold: the application has called `get` again after the handshake, so a consumer that
  authenticates in `connect` does so before any of the client's messages is read; fewer than `QUEUED_MESSAGES`
  and `QUEUED_BYTES` wait in the inbox; the budget of the process (`recorder/ingest/limits/byte_budget.py`)
  granted the frame that began last. Otherwise the transport is paused, the kernel's buffer fills, and TCP
  stops the client.
- **Small frames.** Each costs some 40 us on the event loop, and one read can hold 40,000. A turn of the event
  loop processes the frames of one part of a read, of some `TURN_FRAMES`; the rest waits for the next turn.
- **Unrequested frames.** An allowance limits control frames, and all frames of a page, which only
  answers: each frame that a page is sent, and time, give it back. Without allowance the socket is closed.
- **Writing.** Twisted reports when a client reads slower than the server writes; bytes written from then on
  are counted. A client that leaves more than `UNSENT_BYTES` unread is dropped. Waiting for it instead would
  block the hub and the writer, which serve all clients.

Invariants: an inbox holds at most `QUEUED_BYTES`, one message and the result of one read of the connection.
Every byte taken from the budget is returned once: when the application takes the message, when it is dropped,
or in `_settle`. A closing socket is read and its messages are discarded, up to `DISCARDED_FRAMES`: with
unread bytes the kernel resets the connection, and the client does not see the close code.

Cost: a few comparisons per message; the transport is paused or resumed only when the answer changes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from typing import Any

from daphne.ws_protocol import WebSocketProtocol
from django.conf import settings

from recorder.ingest.limits.byte_budget import budget
from recorder.ingest.limits.rate_limit import Allowance

log = logging.getLogger(__name__)

ABNORMAL = 1006  # no close frame: a page that sees it reconnects
SILENT, ABUSE = 4408, 4429
INGEST = b"/ingest/"
QUEUED_MESSAGES, QUEUED_BYTES = 32, 1024 * 1024
UNSENT_BYTES = 1024 * 1024
READ_BYTES = 256 * 1024  # per read; with Twisted's 64 KiB a frame of events takes many reads
PAGE_BYTES = 4 * 1024  # maximum of a frame from a page, which only sends acknowledgements
FRAGMENTS = 1_024  # maximum of one message
TURN_FRAMES = 64  # after so many, and those of the part they are in, other connections have their turn
PART_BYTES = 1024  # of what was read, given to autobahn at once unless they belong to one frame
DISCARDED_FRAMES = 10_000  # after the close; a client that respects its credit has sent fewer
LAST_DATA_OPCODE = 7  # opcodes above are of control frames
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

    _unread, _read_to = b"", 0  # the last read of the connection, and how much of it was processed
    _turn_frames = 0
    _is_due = False  # a turn is scheduled for the rest of a read
    _discarded = 0  # frames since the close
    current_frame: Any = None  # autobahn's, before the handshake

    def onConnect(self, request: Any) -> Any:  # noqa: N802  autobahn's name
        self.received_at = time.monotonic()
        self.inbox = Inbox(self)
        self._allowance = Allowance()
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
        # Two reads are here at once only if Twisted read before it was paused: then they are joined.
        self._unread, self._read_to = self._unread[self._read_to :] + data, 0
        if not self._is_due:
            self._take_turn()

    def _take_turn(self) -> None:
        """Process what was read until it ends or has `TURN_FRAMES` frames; then schedule the next turn."""
        self._is_due, self._turn_frames = False, 0
        while self._read_to < len(self._unread) and self._turn_frames < TURN_FRAMES:
            part = self._unread[self._read_to : self._read_to + max(self._expected, PART_BYTES)]
            self._read_to += len(part)
            # Not super's, which formats a log message for each read even when it is not logged.
            self._dataReceived(part)
        if self._read_to < len(self._unread) and self.state != self.STATE_CLOSED:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._take_next_turn)
        else:
            self._unread, self._read_to = b"", 0
        if hasattr(self, "inbox"):  # else the handshake was refused
            self.regulate()

    def _take_next_turn(self) -> None:
        try:
            self._take_turn()
        except Exception:  # as Twisted does for a bug in dataReceived
            log.exception("reading a WebSocket failed")
            self.transport.abortConnection()

    @property
    def _expected(self) -> int:
        """The number of bytes that belong together: of the handshake, or of the frame that has begun."""
        if self.state == self.STATE_CONNECTING:
            return len(self._unread)
        if self.current_frame is None:
            return 0
        return int(self.current_frame.length - self.current_frame_masker.pointer())

    def onFrameBegin(self) -> None:  # noqa: N802
        super().onFrameBegin()
        self._turn_frames += 1
        if self.is_discarding:
            self._discarded += 1
            if self._discarded > DISCARDED_FRAMES:
                self.dropConnection(abort=True)
        elif self._is_unasked and not self._allowance.spend() and self.state == self.STATE_OPEN:
            self.is_discarding = True
            self.end(ABUSE)

    @property
    def _is_unasked(self) -> bool:
        return not self.path.startswith(INGEST) or self.current_frame.opcode > LAST_DATA_OPCODE

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
            self._unread, self._read_to = b"", 0
            self._settle()
            super().onClose(wasClean, code, reason)

    def release_oldest(self) -> None:
        """Return the bytes of the oldest queued message to the budget: the application has taken it."""
        if self._sizes:
            budget.give(self._sizes.popleft())

    def regulate(self) -> None:
        """Resume or pause reading. Called whenever one of the conditions may have changed."""
        is_connecting = self.state == self.STATE_CONNECTING
        is_over = self.is_discarding or self.failedByMe
        may_read = not self._is_due and (is_over or (not is_connecting and self._has_room))
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
        self._allowance.give()
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
        """Close an ingest socket with `code`; drop a page socket, so that the page reconnects at once."""
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
