"""The WebSocket endpoint for events: a Channels consumer, one instance for each client.

Frames are read while a commit runs and gathered into the next batch, so a client may have several in flight.

Invariants: lines are written in the order in which they arrived, and what a client sent before it
disconnected is still written. `receive` returns only when at most `MARK_BYTES` are read and not yet written.
Channels requests the next message from the server when it returns, and the server reads the TCP connection
no further than requested (`dashboard/server/websocket.py`). So a connection holds at most `MARK_BYTES`, a
frame and what the server has queued.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NoReturn

from django.conf import settings

from recorder.access.client_address import scope_address
from recorder.asgi.socket_consumer import Close, SocketConsumer
from recorder.database.errors import Busy
from recorder.ingest.auth import Archived, Grant, NoToken, WrongScope, authenticate, format_of, note_refusal
from recorder.ingest.commit.submit import submit
from recorder.ingest.limits.rate_limit import Allowance
from recorder.ingest.websocket import fencing
from recorder.ingest.websocket.frames import BadFrame, Flush, Hello, Lines, UnknownOp, read
from recorder.journal.batch import Batch, Closed, Gap, Mixed, Receipt, Superseded

log = logging.getLogger(__name__)

VERSION = 1
AWAY, BINARY, TOO_BIG = 1001, 1003, 1009
PROTOCOL, TOKEN, SCOPE, SILENT, SUPERSEDED, WRONG_VERSION, ABUSE = 4400, 4401, 4403, 4408, 4409, 4426, 4429
BAD_FRAMES, BAD_WITHIN_S = 8, 60.0
RECHECK_S = 2.0  # between two checks of the token and of the claim on the producer
MARK_BYTES = 2 * 1024 * 1024  # read and not yet written: beyond it the socket is not read
BLANK_LINES = 10_000  # of one frame: 4 MiB of line feeds would block the event loop for half a second
BATCH_BYTES, BATCH_LINES = 2 * 1024 * 1024, 2_000


@dataclass(slots=True)
class Gathered:
    """Frames that become one batch."""

    first: int | None
    lines: list[bytes] = field(default_factory=list)
    size: int = 0
    flush: bool = False

    def takes(self, frame: Lines | Flush) -> bool:
        """Return whether `frame` continues this batch."""
        if self.flush or self.size >= BATCH_BYTES or len(self.lines) >= BATCH_LINES:
            return False
        if isinstance(frame, Flush):
            return True
        return frame.first == (None if self.first is None else self.first + len(self.lines))


class IngestConsumer(SocketConsumer):
    """One client of `/ingest/v1/ws`, from its first frame to the last answer."""

    def __init__(self) -> None:
        super().__init__()
        self._grant = Grant(0, 0)
        self._refusal = ("", "")  # code and message of the refused token
        self._address = ""
        self._format = "native"
        self._hold: fencing.Hold | None = None
        self._high = -1
        self._is_bare = False
        self._allowance = Allowance()
        self._bad: deque[float] = deque(maxlen=BAD_FRAMES)
        self._frames: deque[Lines | Flush] = deque()
        self._bytes = 0  # of frames that are read and not yet written
        self._has_left = False
        self._greeted = asyncio.Event()
        self._more = asyncio.Event()
        self._room = asyncio.Event()
        self._writing: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        """Authenticate the client. Refusals come after the handshake: a client sees close codes only then.

        Raises:
            Close: with the close code of the refusal.
        """
        await self.accept()
        self._address = scope_address(self.scope)
        try:
            await self._authenticate()
        except Close as close:
            await note_refusal(self.scope, close.code, *self._refusal)
            raise
        except Busy:  # the token cannot be checked now; the client reconnects
            raise Close(AWAY) from None
        try:
            self._format = format_of(self.scope["query_string"])
        except ValueError as error:
            await self._say("error", code="bad_format", message=str(error))
            raise Close(PROTOCOL) from None
        self._writing = self.start_task(self._write)
        self.start_task(self._watch)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Take one frame; return when there is room for the next.

        Raises:
            Close: the frame is binary or too large, or the client sent too many bad ones.
        """
        if text_data is None:
            raise Close(BINARY)
        if len(text_data) > settings.LOOPSCOPE_LIMITS["frame_bytes"]:
            raise Close(TOO_BIG)
        await self._take(text_data)
        # A close cancels the task that writes: after it there would never be room, and no disconnect seen.
        while self._bytes > MARK_BYTES and not self.is_closed:
            self._room.clear()
            await self._room.wait()

    async def disconnect(self, code: int) -> None:
        """Wait until what the client sent before it left is written."""
        self._has_left = True
        self._more.set()
        if self._writing is not None:
            await asyncio.wait([self._writing])

    def release(self) -> None:
        """Release the producer, and let `receive` return."""
        self._room.set()
        if self._hold is not None:
            self._hold.let_go()

    async def _authenticate(self) -> None:
        try:
            self._grant = await authenticate(self.scope["headers"])
        except NoToken:
            self._refusal = ("unauthorized", "a valid bearer token is needed")
            raise Close(TOKEN) from None
        except WrongScope:
            self._refusal = ("forbidden", "the token lacks the scope ingest")
            raise Close(SCOPE) from None
        except Archived as archived:
            self._refusal = ("archived", str(archived))
            raise Close(SCOPE) from None

    async def _take(self, text: str) -> None:
        try:
            most = BLANK_LINES + settings.LOOPSCOPE_LIMITS["frame_events"]
            frame = read(text, is_bare=self._is_bare, most_lines=most)
            if not isinstance(frame, Lines) or not frame.lines:
                self._spend()
            if isinstance(frame, Hello):
                await self._greet(frame)
            else:
                await self._queue(frame)
        except UnknownOp:
            self._spend()
            await self._say("error", code="unknown_op", message="valid operations: hello, events, flush")
        except BadFrame as error:
            await self._complain(str(error))

    def _spend(self) -> None:
        """Count a frame without events. Each costs an answer or a commit, and moves no credit."""
        if not self._allowance.spend():
            raise Close(ABUSE)

    async def _greet(self, hello: Hello) -> None:
        if type(hello.version) is not int or hello.version != VERSION:
            raise Close(WRONG_VERSION)
        if self._hold is not None and hello.producer not in (None, self._hold.producer):
            raise BadFrame("this connection already has another producer")
        await self._be(hello.producer)

    async def _be(self, producer: str | None) -> None:
        """Claim a producer, replacing any other connection of it, and send the welcome."""
        if self._hold is None:
            self._hold = await self._claimed(producer)
            self._high = self._hold.high
        self._greeted.set()
        limits = settings.LOOPSCOPE_LIMITS
        await self._say(
            "welcome",
            v=VERSION,
            producer=self._hold.producer,
            high_water=self._high,
            credit=limits["credit_bytes"],
            limits=limits,
            server_time=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        )

    async def _claimed(self, producer: str | None) -> fencing.Hold:
        grant = self._grant
        if producer is None:
            return fencing.new(self._supersede)
        claim = Batch(grant.project, producer, None, [], self._format, is_demo=grant.is_demo, claim=True)
        try:
            return await fencing.take(claim, self._supersede)
        except Closed:
            raise Close(SCOPE) from None
        except Mixed as mixed:
            await self._refuse_format(mixed)
        except Busy:  # the high water cannot be read; the client reconnects
            raise Close(AWAY) from None

    async def _refuse_format(self, mixed: Mixed) -> NoReturn:
        await self._say("error", code="bad_format", message=str(mixed))
        raise Close(PROTOCOL)

    async def _queue(self, frame: Lines | Flush) -> None:
        if isinstance(frame, Lines) and len(frame.lines) > settings.LOOPSCOPE_LIMITS["frame_events"]:
            raise BadFrame(f"a frame has at most {settings.LOOPSCOPE_LIMITS['frame_events']} events")
        if self._hold is None:
            await self._be(None)
        if isinstance(frame, Lines):
            self._is_bare = frame.first is None
            self._bytes += frame.size
        self._frames.append(frame)
        self._more.set()

    async def _complain(self, message: str) -> None:
        now = time.monotonic()
        self._bad.append(now)
        await self._say("error", code="bad_frame", message=message)
        if len(self._bad) == BAD_FRAMES and now - self._bad[0] < BAD_WITHIN_S:
            raise Close(PROTOCOL)

    async def _write(self) -> None:
        """Write and answer gathered frames until the client has disconnected and none is left."""
        while True:
            while not self._frames:
                if self._has_left:
                    return
                self._more.clear()
                await self._more.wait()
            await self._write_batch(self._gather())

    def _gather(self) -> Gathered:
        gathered = Gathered(None)
        if isinstance(self._frames[0], Lines):
            gathered.first = self._frames[0].first
        while self._frames and gathered.takes(self._frames[0]):
            frame = self._frames.popleft()
            if isinstance(frame, Flush):
                gathered.flush = True
            else:
                gathered.lines += frame.lines
                gathered.size += frame.size
        return gathered

    async def _write_batch(self, gathered: Gathered) -> None:
        first, lines, hold = gathered.first, gathered.lines, self._hold
        assert hold is not None
        batch = Batch(
            self._grant.project,
            hold.producer,
            first,
            lines,
            self._format,
            is_demo=self._grant.is_demo,
            flush=gathered.flush,
            token=self._grant.token,
            address=self._address,
            epoch=hold.epoch,
        )
        try:
            receipt = await submit(batch)
        except Superseded:
            raise Close(SUPERSEDED) from None
        except Closed:
            raise Close(SCOPE) from None
        except Mixed as mixed:
            await self._refuse_format(mixed)
        except Gap as gap:
            await self._say("nack", code="gap", **{"from": gap.from_})
        except Busy as busy:
            # The numbers of later frames are too high now; the client sends them again with the rest.
            self._frames.clear()
            self._bytes = gathered.size
            again = self._high + 1 if first is None else first
            wait = busy.retry_after_ms
            await self._say("nack", code=busy.code, **{"from": again}, retry_after_ms=wait)
        else:
            await self._acknowledge(receipt)
        self._bytes -= gathered.size
        self._room.set()

    async def _acknowledge(self, receipt: Receipt) -> None:
        self._high = receipt.upto
        rejected = [each.fields() for each in receipt.rejected]
        credit = settings.LOOPSCOPE_LIMITS["credit_bytes"]
        await self._say("ack", upto=receipt.upto, rejected=rejected, credit=credit)

    async def _watch(self) -> None:
        """Close a connection that sends no first frame in time, or whose token is revoked."""
        try:
            await asyncio.wait_for(self._greeted.wait(), settings.LOOPSCOPE_LIMITS["hello_s"])
        except TimeoutError:
            raise Close(SILENT) from None
        while True:
            await asyncio.sleep(RECHECK_S)
            try:
                await self._authenticate()
                if self._hold is not None:
                    await self._hold.check()
            except Busy:
                log.warning("a token cannot be checked again now")

    def _supersede(self) -> None:
        """Close, because another connection has claimed the producer. Called on the event loop."""
        self.start_task(self._close_superseded)

    async def _close_superseded(self) -> None:
        raise Close(SUPERSEDED)

    async def _say(self, op: str, **more: Any) -> None:
        if not self._has_left and not self.is_closed:
            await self.send(json.dumps({"op": op, **more}, separators=(",", ":")))
