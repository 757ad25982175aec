"""The transport of every connection, on real sockets: all that is written arrives, and ends are told once."""

import asyncio
import logging
import socket
import struct
from time import monotonic

import pytest
from twisted.internet import asyncioreactor, protocol, tcp
from twisted.internet.error import ConnectionAborted, ConnectionDone, ConnectionLost

from dashboard.server.transport import Wire

MUCH = bytes(range(256)) * 32 * 1024  # 8 MiB: more than the kernel takes at once


class Served(protocol.Protocol):
    """The server's side of one connection, and how it ended."""

    def __init__(self):
        self.ends = []

    def connectionLost(self, reason):  # noqa: N802  Twisted's name
        self.ends.append(reason.type)


class Line:
    """A connection from a plain socket to a `Wire`, and what its reactor was asked to watch."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.reactor = asyncioreactor.AsyncioSelectorReactor(self.loop)
        self.served, self.watched = Served(), 0
        factory = protocol.Factory.forProtocol(lambda: self.served)
        self.port = tcp.Port(0, factory, interface="127.0.0.1", reactor=self.reactor)
        self.port.transport = Wire
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
    def wire(self):
        return self.served.transport

    def until(self, holds):
        deadline = monotonic() + 20
        while not holds():
            assert monotonic() < deadline
            self.soon()

    def do(self, work):
        """Do something as a server does it: in the loop."""

        async def done():
            work(self.wire)

        self.loop.run_until_complete(done())

    def write(self, text):
        self.do(lambda wire: wire.write(text))

    def soon(self):
        """Let the loop run what is due."""
        self.loop.run_until_complete(asyncio.sleep(0.001))

    def read(self, size):
        async def take():
            async with asyncio.timeout(20):
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
            self.do(lambda wire: wire.abortConnection())
            self.until(lambda: self.served.ends)
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.close()


@pytest.fixture
def line():
    line = Line()
    yield line
    line.close()


def test_what_fits_leaves_without_asking_for_room(line):
    for n in range(100):
        line.write(b"%d," % n)
        if n % 10 == 9:
            line.soon()
    assert line.read(290) == b"".join(b"%d," % n for n in range(100))
    assert line.watched == 0


def test_what_does_not_fit_follows_as_soon_as_there_is_room_and_then_nobody_watches(line):
    line.write(MUCH)
    line.until(lambda: line.watched)
    line.write(b"the end")
    assert line.read(len(MUCH) + 7) == MUCH + b"the end"
    line.until(lambda: line.wire not in line.reactor.getWriters())
    assert line.watched == 1

    line.write(b"more")
    assert line.read(4) == b"more"
    assert line.watched == 1


def test_a_connection_that_is_closed_first_sends_what_was_written(line):
    line.do(lambda wire: (wire.write(MUCH), wire.loseConnection()))
    assert line.read(len(MUCH) + 1) == MUCH
    line.until(lambda: line.served.ends)
    assert line.served.ends == [ConnectionDone]


def test_a_connection_that_is_closed_with_nothing_to_send_ends(line):
    line.do(lambda wire: wire.loseConnection())
    assert line.read(1) == b""
    line.until(lambda: line.served.ends)
    assert line.served.ends == [ConnectionDone]


@pytest.mark.parametrize("written", [b"little", MUCH], ids=["little", "much"])
def test_a_connection_that_is_aborted_sends_no_more(line, written):
    line.do(lambda wire: (wire.write(written), wire.abortConnection(), wire.write(b"never")))
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
    assert line.wire not in line.reactor.getReaders()


class Fountain:
    """A producer that goes on when it is told to, a few times."""

    def __init__(self, wire, times):
        self.wire, self.left = wire, times

    def resumeProducing(self):  # noqa: N802  Twisted's names
        self.left -= 1
        if self.left < 0:
            raise ValueError("the well is dry")
        self.wire.write(MUCH[:100_000])

    def pauseProducing(self):  # noqa: N802
        """It writes once each time, and stops by itself."""

    def stopProducing(self):  # noqa: N802
        self.left = -1


def test_a_producer_is_told_when_all_it_wrote_is_sent(line):
    fountain = Fountain(line.wire, 20)
    line.do(lambda wire: wire.registerProducer(fountain, streaming=False))
    assert line.read(2_000_000) == MUCH[:100_000] * 20


def test_a_producer_that_breaks_ends_its_connection_and_is_logged(line, caplog):
    line.do(lambda wire: wire.registerProducer(Fountain(wire, 1), streaming=False))
    with caplog.at_level(logging.ERROR):
        line.read(100_001)
        line.until(lambda: line.served.ends)
    assert line.served.ends == [ValueError]
    assert "the well is dry" in caplog.text
