"""The WebSocket door for events: a plain ASGI application, one `Connection` a client.

Frames are read while a commit runs and gathered into the next batch, so a client may have many on their way
and their order holds. What a client sent before it left is still written.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import deque
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.conf import settings

from recorder.database.errors import Busy
from recorder.ingest import fencing
from recorder.ingest.auth import Grant, NoToken, Receive, Scope, Send, WrongScope, authenticate, format_of
from recorder.ingest.rate_limit import submit
from recorder.ingest.websocket_frames import BadFrame, Flush, Hello, Lines, UnknownOp, read
from recorder.journal.batch import Batch, Gap, Mixed, Receipt, Superseded

log = logging.getLogger(__name__)

VERSION = 1
AWAY, BINARY, TOO_BIG, OUR_BUG = 1001, 1003, 1009, 1011
PROTOCOL, TOKEN, SCOPE, SILENT, SUPERSEDED, WRONG_VERSION = 4400, 4401, 4403, 4408, 4409, 4426
BAD_FRAMES, BAD_WITHIN_S = 8, 60.0
RECHECK_S = 5.0
MARK_BYTES = 2 * 1024 * 1024  # read and not yet written: beyond it the socket is not read
BATCH_BYTES, BATCH_LINES = 2 * 1024 * 1024, 2_000


class Close(Exception):
    """The connection ends, and `code` says why."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


@dataclass(slots=True)
class Gathered:
    """Frames that become one batch."""

    first: int | None
    lines: list[bytes] = field(default_factory=list)
    size: int = 0
    flush: bool = False

    def takes(self, frame: Lines | Flush) -> bool:
        """Say whether `frame` goes on where this ends."""
        if self.flush or self.size >= BATCH_BYTES or len(self.lines) >= BATCH_LINES:
            return False
        if isinstance(frame, Flush):
            return True
        return frame.first == (None if self.first is None else self.first + len(self.lines))


async def ingest_socket(scope: Scope, receive: Receive, send: Send) -> None:
    """Serve one connection to `/ingest/v1/ws`."""
    await Connection(scope, receive, send).run()


class Connection:
    """One client, from its first frame to the last answer."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send
        self._grant = Grant(0, 0)
        self._format = "native"
        self._hold: fencing.Hold | None = None
        self._high = -1
        self._is_bare = False
        self._bad: deque[float] = deque(maxlen=BAD_FRAMES)
        self._frames: deque[Lines | Flush] = deque()
        self._bytes = 0
        self._has_left = False
        self._greeted = asyncio.Event()
        self._more = asyncio.Event()
        self._room = asyncio.Event()
        self._superseded = asyncio.Event()

    async def run(self) -> None:
        """Serve the client. Refusals come after the handshake: a client sees close codes only then."""
        await self._receive()  # websocket.connect
        await self._send({"type": "websocket.accept"})
        try:
            await self._open()
            await self._serve()
        except Close as close:
            await self._send({"type": "websocket.close", "code": close.code})
        except Mixed as mixed:
            await self._say("error", code="bad_format", message=str(mixed))
            await self._send({"type": "websocket.close", "code": PROTOCOL})
        except Busy:  # it cannot be told who it is and where to go on: it comes again
            await self._send({"type": "websocket.close", "code": AWAY})
        except Exception:
            log.exception("an ingest connection failed")
            await self._send({"type": "websocket.close", "code": OUR_BUG})
        finally:
            if self._hold is not None:
                self._hold.let_go()

    async def _open(self) -> None:
        await self._admit()
        try:
            self._format = format_of(self._scope["query_string"])
        except ValueError as error:
            await self._say("error", code="bad_format", message=str(error))
            raise Close(PROTOCOL) from None

    async def _admit(self) -> None:
        try:
            self._grant = await authenticate(self._scope["headers"])
        except NoToken:
            raise Close(TOKEN) from None
        except WrongScope:
            raise Close(SCOPE) from None

    async def _serve(self) -> None:
        """Run until the client has left and all it sent is answered, or a part ends the connection."""
        parts = (self._read(), self._write(), self._watch(), self._give_way())
        tasks = [asyncio.ensure_future(part) for part in parts]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if tasks[0] in done and tasks[0].exception() is None:
                done, _ = await asyncio.wait(tasks[1:], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(self) -> None:
        """Take frames until the client leaves."""
        while (message := await self._receive())["type"] != "websocket.disconnect":
            text = message.get("text")
            if text is None:
                raise Close(BINARY)
            if len(text) > settings.LOOPSCOPE_LIMITS["frame_bytes"]:
                raise Close(TOO_BIG)
            await self._take(text)
            while self._bytes > MARK_BYTES:
                self._room.clear()
                await self._room.wait()
        self._has_left = True
        self._more.set()

    async def _take(self, text: str) -> None:
        try:
            frame = read(text, is_bare=self._is_bare)
            if isinstance(frame, Hello):
                await self._greet(frame)
            else:
                await self._queue(frame)
        except UnknownOp:
            await self._say("error", code="unknown_op", message="hello, events and flush are known")
        except BadFrame as error:
            await self._complain(str(error))

    async def _greet(self, hello: Hello) -> None:
        if type(hello.version) is not int or hello.version != VERSION:
            raise Close(WRONG_VERSION)
        if self._hold is not None and hello.producer not in (None, self._hold.producer):
            raise BadFrame("this connection is another producer's already")
        await self._be(hello.producer)

    async def _be(self, producer: str | None) -> None:
        """Become a producer, instead of any other connection that is, and say so."""
        if self._hold is None:
            self._hold = await self._taken(producer)
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

    async def _taken(self, producer: str | None) -> fencing.Hold:
        lost, grant = self._superseded.set, self._grant
        if producer is None:
            return fencing.new(lost)
        claim = Batch(grant.project, producer, None, [], self._format, is_demo=grant.is_demo, claim=True)
        return await fencing.take(claim, lost)

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
        """Write what has gathered, answer, and again, until the client has left and nothing is left."""
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
            epoch=hold.epoch,
        )
        try:
            receipt = await submit(batch)
        except Superseded:
            raise Close(SUPERSEDED) from None
        except Gap as gap:
            await self._say("nack", code="gap", **{"from": gap.from_})
        except Busy as busy:
            # What came after is too high now; the client sends it again with the rest.
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
        rejected = [asdict(each) for each in receipt.rejected]
        credit = settings.LOOPSCOPE_LIMITS["credit_bytes"]
        await self._say("ack", upto=receipt.upto, rejected=rejected, credit=credit)

    async def _watch(self) -> None:
        """End a connection that says nothing at first, or whose token is taken away."""
        try:
            await asyncio.wait_for(self._greeted.wait(), settings.LOOPSCOPE_LIMITS["hello_s"])
        except TimeoutError:
            raise Close(SILENT) from None
        while True:
            await asyncio.sleep(RECHECK_S)
            try:
                await self._admit()
                if self._hold is not None:
                    await self._hold.check()
            except Busy:
                log.warning("a token cannot be checked again now")

    async def _give_way(self) -> None:
        await self._superseded.wait()
        raise Close(SUPERSEDED)

    async def _say(self, op: str, **more: Any) -> None:
        if not self._has_left:
            text = json.dumps({"op": op, **more}, separators=(",", ":"))
            await self._send({"type": "websocket.send", "text": text})
