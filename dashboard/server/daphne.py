"""Our Daphne: what `manage.py up` serves with.

Stock Daphne reads and buffers whatever is sent, drops too large messages without a word, refuses close codes
that our protocol has, and on SIGTERM cuts everyone off in the middle of a commit.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from daphne.server import Server as Daphne  # first: it installs the reactor that runs on asyncio
from django.conf import settings

from dashboard.server.http_channel import Channel
from dashboard.server.transport import Wire
from dashboard.server.websocket import Inbox, Socket
from recorder.ingest.writer import writer
from recorder.operations.scheduler import Scheduler

log = logging.getLogger(__name__)

GOING_AWAY = 1001
DRAIN_S = 3.0
STOP_S = 1.0  # for a daily job to end
ANSWERS_S = 0.05  # from the last commit to its answer on the wire
LINGER_S = 0.5  # for the answers and close frames to leave


class Reader:
    """Whether the client keeps up with a long answer; Twisted says so to a push producer."""

    def __init__(self) -> None:
        self.keeps_up = asyncio.Event()
        self.keeps_up.set()

    def pauseProducing(self) -> None:  # noqa: N802  Twisted's names
        self.keeps_up.clear()

    def resumeProducing(self) -> None:  # noqa: N802
        self.keeps_up.set()

    def stopProducing(self) -> None:  # noqa: N802
        self.keeps_up.set()


class Server(Daphne):  # type: ignore[misc]  # Daphne ships no types
    """One endpoint, until SIGTERM or SIGINT. `listening` is called with the port once it answers."""

    def __init__(self, application: Any, host: str, port: int, listening: Callable[[int], None]) -> None:
        limits = settings.LOOPSCOPE_LIMITS
        address = host.replace(":", r"\:")
        super().__init__(
            application=application,
            endpoints=[f"tcp:port={port}:interface={address}"],
            signal_handlers=False,
            request_buffer_size=limits["body_bytes"] + 1,  # a body comes in one piece
            ping_interval=limits["ping_s"],
            ping_timeout=0,  # silence is ours to judge: any message counts, not only a pong
            websocket_timeout=-1,
            websocket_handshake_timeout=10,
            websocket_max_message_size=limits["frame_bytes"],
            websocket_max_frame_size=limits["frame_bytes"],
            application_close_timeout=10,
            ready_callable=self._prepare,
            verbosity=0,
            server_name="loopscope",
        )
        self._listening = listening
        self._where = f"{host} port {port}"
        self._ports: list[Any] = []
        self._scheduler = Scheduler()
        self.failure = ""

    def serve(self) -> None:
        """Run until told to stop."""
        try:
            self.run()
        finally:
            self._scheduler.stop(STOP_S)
            writer().close()

    def _prepare(self) -> None:
        _spare_the_collector()
        self.http_factory.protocol = Channel
        self.ws_factory.protocol = Socket
        # A close frame says why; the peer has a second to answer it. Text is decoded once it is whole:
        # to look at its bytes before costs as much as all else that is done to a frame. Null
        # origins are let through, so that our doors refuse them with a code of ours.
        self.ws_factory.setProtocolOptions(
            failByDrop=False, closeHandshakeTimeout=1, utf8validateIncoming=False, allowNullOrigin=True
        )
        loop = asyncio.get_event_loop()
        writer().when_broken = _end_at_once
        writer().start()
        self._scheduler.start()
        if settings.REDIS_URL:
            self._relay = loop.create_task(_relay())
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._begin_to_stop)

    def protocol_connected(self, protocol: Any) -> None:
        # Twisted would read a posted form before we see its request, and refuse a broken one without a word.
        protocol._parsePOSTFormSubmission = False  # noqa: SLF001  no public name for it
        super().protocol_connected(protocol)

    def listen_success(self, port: Any) -> None:
        super().listen_success(port)
        port.transport = Wire
        self._ports.append(port)
        self._listening(port.getHost().port)

    def listen_error(self, failure: Any) -> None:
        self.failure = f"Cannot listen on {self._where}: {failure.getErrorMessage()}"
        self.stop()

    def _begin_to_stop(self) -> None:
        self._stopping = asyncio.ensure_future(self._stop_well())

    async def _stop_well(self) -> None:
        """Take nothing more, commit and answer what came, say goodbye to the sockets, end."""
        for port in self._ports:
            port.stopListening()
        for socket in self._sockets():
            socket.is_deaf = True
        await asyncio.to_thread(writer().close, DRAIN_S)
        await asyncio.sleep(ANSWERS_S)
        for socket in self._sockets():
            socket.end(GOING_AWAY)
        await asyncio.sleep(LINGER_S)
        self.stop()

    def _sockets(self) -> list[Socket]:
        found = [each for each in self.connections if isinstance(each, Socket)]
        return [socket for socket in found if socket.state == socket.STATE_OPEN]

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        """Start the application of a connection; a socket's messages wait where they are counted."""
        if not isinstance(protocol, Socket):
            scope["grant"] = protocol.noted()
            return super().create_application(protocol, scope)
        inbox: Inbox = protocol.inbox
        scope["asgi"] = {"version": "3.0"}
        told = self.application(scope, inbox.get, partial(self.handle_reply, protocol))
        self.connections[protocol]["application_instance"] = asyncio.ensure_future(told)
        return inbox

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        """Send a part of an answer; of a long one as fast as the client reads. Stock Daphne buffers all."""
        is_body = message["type"] == "http.response.body" and protocol.channel is not None
        if is_body and message.get("more_body") and protocol.producer is None:
            protocol.registerProducer(Reader(), True)  # noqa: FBT003  Twisted's order
        reader = protocol.producer if is_body else None
        if reader is not None and not message.get("more_body"):
            protocol.unregisterProducer()
        await super().handle_reply(protocol, message)
        if reader is not None and not reader.keeps_up.is_set():
            try:
                await asyncio.wait_for(reader.keeps_up.wait(), settings.LOOPSCOPE_LIMITS["silence_s"])
            except TimeoutError:
                protocol.transport.abortConnection()

    def kill_all_applications(self) -> Any:
        # Stock Daphne expects each connection to have an application; one that just connected has none.
        self.connections: dict[Any, dict[str, Any]] = {
            key: value for key, value in self.connections.items() if "application_instance" in value
        }
        return super().kill_all_applications()


def _end_at_once(why: str) -> NoReturn:
    """End, because nothing can be acknowledged any more.

    To close the database would write and sync it once more, and believe what the disk then says.
    """
    log.critical("%s", why)
    os._exit(1)


def _spare_the_collector() -> None:
    """Keep Python's collector from going through what stays anyway, and through each group of events.

    What is read of 2,000 lines is some 60,000 objects, and none of them is garbage in a circle.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)


async def _relay() -> None:
    from recorder.pubsub.redis_relay import RedisRelay  # noqa: PLC0415  Redis is an extra

    RedisRelay()
