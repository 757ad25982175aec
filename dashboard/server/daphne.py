"""The server of `manage.py up`: Daphne with limits, back-pressure and a graceful stop.

Stock Daphne buffers requests and responses without a limit, drops too large messages without a close code,
rejects close codes that the protocol uses, and on SIGTERM closes connections in the middle of a commit. Here:

- **Requests** have limits on size, rate and time (`http_channel.py`); sockets are read only as fast as the
  application takes their messages (`websocket.py`).
- **Long responses** are sent as fast as the client reads: a part is requested from the application only after
  the transport's buffer has been emptied, so a response holds one part in memory (`handle_reply`).
- **Stop**: no new connections, no new messages; the writer commits what was received, at most `DRAIN_S`
  seconds; acknowledgements and close frames are sent; then the process ends. At most about 4 seconds.

Invariant: what was acknowledged is committed, and what was committed before a graceful stop is acknowledged.
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

from dashboard.server import health
from dashboard.server.http_channel import Channel
from dashboard.server.transport import EagerTransport
from dashboard.server.websocket import Inbox, Socket
from recorder.database.errors import SYNCS
from recorder.ingest.commit.writer import writer
from recorder.operations.scheduler import Scheduler

log = logging.getLogger(__name__)

GOING_AWAY = 1001
DRAIN_S = 3.0  # maximum for the last commits
STOP_S = 1.0  # maximum for a running daily job
ANSWERS_S = 0.05  # between the last commit and its acknowledgement on the transport
LINGER_S = 0.5  # for acknowledgements and close frames to be sent


class ResponseProducer:
    """Whether the client keeps up with a long response; Twisted calls these methods of a push producer."""

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
            request_buffer_size=limits["body_bytes"] + 1,  # the application gets a body in one message
            ping_interval=limits["ping_s"],
            ping_timeout=0,  # checked in `Socket.check_timeouts`: any message counts, not only a pong
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
        self._address = f"{host} port {port}"
        self._ports: list[Any] = []
        self._scheduler = Scheduler()
        self.failure = ""

    def serve(self) -> None:
        """Run until SIGTERM or SIGINT; then stop the daily jobs and the writer."""
        try:
            self.run()
        finally:
            self._scheduler.stop(STOP_S)
            writer().close()

    def _prepare(self) -> None:
        _tune_garbage_collector()
        self.http_factory.protocol = Channel
        self.ws_factory.protocol = Socket
        # Failures send a close frame, and the peer has a second to answer it. Text is decoded when the
        # message is complete: validating each read costs as much as all other work on a frame. Null origins
        # are let through here, so that the endpoints refuse them with a close code of the protocol.
        self.ws_factory.setProtocolOptions(
            failByDrop=False, closeHandshakeTimeout=1, utf8validateIncoming=False, allowNullOrigin=True
        )
        loop = asyncio.get_event_loop()
        writer().when_broken = SYNCS.when_failed = _exit_at_once
        writer().start()
        self._scheduler.start()
        self._watch = loop.create_task(health.watch())
        if settings.REDIS_URL:
            self._relay = loop.create_task(_relay())
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._begin_stop)

    def protocol_connected(self, protocol: Any) -> None:
        # Twisted would parse a posted form before the request reaches Daphne, and answer a broken one itself.
        protocol._parsePOSTFormSubmission = False  # noqa: SLF001  no public name for it
        super().protocol_connected(protocol)

    def listen_success(self, port: Any) -> None:
        super().listen_success(port)
        port.transport = EagerTransport
        self._ports.append(port)
        self._listening(port.getHost().port)

    def listen_error(self, failure: Any) -> None:
        self.failure = f"Cannot listen on {self._address}: {failure.getErrorMessage()}"
        self.stop()

    def _begin_stop(self) -> None:
        self._stopping = asyncio.ensure_future(self._stop_gracefully())

    async def _stop_gracefully(self) -> None:
        """Stop receiving, commit and acknowledge what was received, close the sockets, end."""
        for port in self._ports:
            port.stopListening()
        for socket in self._sockets():
            socket.is_discarding = True
        self._watch.cancel()
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
        """Start the application of a connection; the messages of a socket are queued in its `Inbox`."""
        if not isinstance(protocol, Socket):
            scope["grant"] = protocol.recent_grant()
            queue = super().create_application(protocol, scope)
            if queue is not None:
                application = self.connections[protocol]["application_instance"]
                application.add_done_callback(partial(_break_off_incomplete, protocol))
            return queue
        inbox: Inbox = protocol.inbox
        scope["asgi"] = {"version": "3.0"}
        application = self.application(scope, inbox.get, partial(self.handle_reply, protocol))
        self.connections[protocol]["application_instance"] = asyncio.ensure_future(application)
        return inbox

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        """Send a part of a response, and return once the client has read enough of it to send more.

        A client that reads nothing for `silence_s` seconds is disconnected.
        """
        is_body = message["type"] == "http.response.body" and protocol.channel is not None
        if is_body and message.get("more_body") and protocol.producer is None:
            protocol.registerProducer(ResponseProducer(), True)  # noqa: FBT003  Twisted's order
        producer = protocol.producer if is_body else None
        if producer is not None and not message.get("more_body"):
            protocol.unregisterProducer()
        await super().handle_reply(protocol, message)
        # The application awaits this method before it produces the next part.
        if producer is not None and not producer.keeps_up.is_set():
            try:
                await asyncio.wait_for(producer.keeps_up.wait(), settings.LOOPSCOPE_LIMITS["silence_s"])
            except TimeoutError:
                protocol.transport.abortConnection()

    def kill_all_applications(self) -> Any:
        # Stock Daphne expects each connection to have an application; a new connection has none yet.
        self.connections: dict[Any, dict[str, Any]] = {
            key: value for key, value in self.connections.items() if "application_instance" in value
        }
        return super().kill_all_applications()


def _break_off_incomplete(protocol: Any, application: asyncio.Future[None]) -> None:
    """Close the connection of a response that its application left unfinished: nothing more will come."""
    if protocol.finished or protocol.channel is None:
        return
    # Stock Daphne logs an exception within a second, and cancels an application when it stops itself.
    if not application.cancelled() and application.exception() is None:
        log.error("an application returned before its response was complete")
    protocol.handle_exception(RuntimeError("the response is incomplete"))


def _exit_at_once(reason: str) -> NoReturn:
    """Exit without clean-up, because commits can no longer be trusted.

    Closing the database would write and sync once more, and trust the result of a faulty disk.
    """
    log.critical("%s", reason)
    os._exit(1)


def _tune_garbage_collector() -> None:
    """Exclude long-lived objects from garbage collection, and collect less often.

    Parsing 2,000 lines makes about 60,000 objects without reference cycles; the default threshold of 700
    would traverse them again and again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)


async def _relay() -> None:
    from recorder.pubsub.redis_relay import RedisRelay  # noqa: PLC0415  an optional dependency

    RedisRelay()
