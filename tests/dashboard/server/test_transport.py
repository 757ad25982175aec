"""The transport on real sockets: all bytes arrive in order, and the end is reported once."""

import asyncio
import logging
import socket
import struct

import pytest
from twisted.internet import asyncioreactor, protocol, tcp
from twisted.internet.error import ConnectionAborted, ConnectionDone, ConnectionLost

from dashboard.server.transport import EagerTransport
from tests.support.wait import LONGEST_S, until

MUCH = bytes(range(256)) * 32 * 1024  # 8 MiB: more than the kernel buffers at once


class Served(protocol.Protocol):
    """The server's side of one connection, and how it ended."""

    def __init__(self):
        self.ends = []

    def connectionLost(self, reason):  # noqa: N802  Twisted's name
        self.ends.append(reason.type)


class Line:
    """A connection from a plain socket to an `EagerTransport`; `watched` counts polls for writability."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.reactor = asyncioreactor.AsyncioSelectorReactor(self.loop)
        self.served, self.watched = Served(), 0
        factory = protocol.Factory.forProtocol(lambda: self.served)
        self.port = tcp.Port(0, factory, interface="127.0.0.1", reactor=self.reactor)
        self.port.transport = EagerTransport
        self.port.startListening()
        self.client = socket.create_connection(("127.0.0.1", self.port.getHost().port))
        self.client.setblocking(False)
        add = self.reactor.addWriter

        def counted(writer):
            self.watched += 1
            add(writer)

        self.reactor.addWriter = counted
        self.until(lambda: self.served.transport)

    @property
    def transport(self):
        return self.served.transport

    def until(self, holds):
        until(lambda: holds() or self.soon(), poll_s=0)

    def do(self, work):
        """Run `work` in the event loop, as a server does."""

        async def done():
            work(self.transport)

        self.loop.run_until_complete(done())

    def write(self, text):
        self.do(lambda transport: transport.write(text))

    def soon(self):
        """Let the loop run scheduled callbacks."""
        self.loop.run_until_complete(asyncio.sleep(0.001))

    def read(self, size):
        async def take():
            async with asyncio.timeout(LONGEST_S):
                parts, length = [], 0
                while length < size and (part := await self.loop.sock_recv(self.client, 1 << 20)):
                    parts.append(part)
                    length += len(part)
                return b"".join(parts)

        return self.loop.run_until_complete(take())

    def close(self):
        self.client.close()
        self.port.stopListening()
        if not self.served.ends:
            self.do(lambda transport: transport.abortConnection())
            self.until(lambda: self.served.ends)
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.close()


@pytest.fixture
def line():
    line = Line()
    yield line
    line.close()


def test_data_that_fits_is_sent_without_polling(line):
    for n in range(100):
        line.write(b"%d," % n)
        if n % 10 == 9:
            line.soon()
    assert line.read(290) == b"".join(b"%d," % n for n in range(100))
    assert line.watched == 0


def test_data_that_does_not_fit_is_sent_when_writable_and_polling_stops(line):
    line.write(MUCH)
    line.until(lambda: line.watched)
    line.write(b"the end")
    assert line.read(len(MUCH) + 7) == MUCH + b"the end"
    line.until(lambda: line.transport not in line.reactor.getWriters())
    assert line.watched == 1

    line.write(b"more")
    assert line.read(4) == b"more"
    assert line.watched == 1


def test_closing_sends_pending_data_first(line):
    line.do(lambda transport: (transport.write(MUCH), transport.loseConnection()))
    assert line.read(len(MUCH) + 1) == MUCH
    line.until(lambda: line.served.ends)
    assert line.served.ends == [ConnectionDone]


def test_closing_without_pending_data_ends_the_connection(line):
    line.do(lambda transport: transport.loseConnection())
    assert line.read(1) == b""
    line.until(lambda: line.served.ends)
    assert line.served.ends == [ConnectionDone]


@pytest.mark.parametrize("written", [b"little", MUCH], ids=["little", "much"])
def test_aborting_discards_pending_data(line, written):
    line.do(
        lambda transport: (transport.write(written), transport.abortConnection(), transport.write(b"never"))
    )
    line.until(lambda: line.served.ends)
    line.soon()
    assert line.served.ends == [ConnectionAborted]
    assert line.reactor.getWriters() == []


@pytest.mark.parametrize("written", [b"little", MUCH], ids=["little", "much"])
def test_a_peer_that_resets_ends_the_connection_once(line, written):
    line.write(written)
    line.soon()
    line.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    line.client.close()
    line.write(written)
    line.until(lambda: line.served.ends)
    line.soon()
    assert line.served.ends == [ConnectionLost]
    assert line.reactor.getWriters() == []
    assert line.transport not in line.reactor.getReaders()


class PullProducer:
    """A producer that writes each time it is resumed, and raises after `times`."""

    def __init__(self, transport, times):
        self.transport, self.left = transport, times

    def resumeProducing(self):  # noqa: N802  Twisted's names
        self.left -= 1
        if self.left < 0:
            raise ValueError("no data left")
        self.transport.write(MUCH[:100_000])

    def pauseProducing(self):  # noqa: N802
        """It writes once each time and stops by itself."""

    def stopProducing(self):  # noqa: N802
        self.left = -1


def test_a_producer_is_resumed_when_its_data_is_sent(line):
    producer = PullProducer(line.transport, 20)
    line.do(lambda transport: transport.registerProducer(producer, streaming=False))
    assert line.read(2_000_000) == MUCH[:100_000] * 20


def test_a_producer_that_raises_ends_its_connection_and_is_logged(line, caplog):
    line.do(lambda transport: transport.registerProducer(PullProducer(transport, 1), streaming=False))
    with caplog.at_level(logging.ERROR):
        line.read(100_001)
        line.until(lambda: line.served.ends)
    assert line.served.ends == [ValueError]
    assert "no data left" in caplog.text
