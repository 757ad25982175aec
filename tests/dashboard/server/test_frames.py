"""Hostile frames on a WebSocket: a turn of the event loop processes few, and floods end the connection."""

import asyncio
from random import Random
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from daphne.ws_protocol import WebSocketFactory
from twisted.internet.error import ConnectionDone
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from dashboard.server import websocket
from dashboard.server.websocket import DISCARDED_FRAMES, PAGE_BYTES, PART_BYTES, TURN_FRAMES, Socket
from recorder.ingest.limits import rate_limit
from recorder.ingest.limits.byte_budget import budget
from recorder.ingest.limits.rate_limit import ALLOWANCE, ALLOWANCE_PER_S, Allowance

TURN_MAX = TURN_FRAMES + PART_BYTES // 6  # the part in which the limit is reached is finished
PAGE, INGEST = b"/p/default/live/sessions", b"/ingest/v1/ws"
HANDSHAKE = (
    b"GET %b HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


def frame(content=b"", opcode=1, length=None, *, is_last=True):
    """Return a client's frame, masked with zeros; `length` is what its header claims."""
    size = len(content) if length is None else length
    first = opcode | (0x80 if is_last else 0)
    if size < 126:
        head = bytes((first, 0x80 | size))
    elif size < 65536:
        head = bytes((first, 0xFE)) + size.to_bytes(2)
    else:
        head = bytes((first, 0xFF)) + size.to_bytes(8)
    return head + bytes(4) + content


FLOODS = {
    "empty": frame(),
    "pings": frame(opcode=9),
    "pongs": frame(opcode=10),
    "acknowledgements": frame(b'{"ack":1}'),
    "deep JSON": frame(b"[" * 90),
    "longest": frame(b"[" * PAGE_BYTES),
    "binary": frame(opcode=2),
    "fragments": frame(is_last=False) + frame(opcode=0),
}


class Transport(StringTransport):
    """A connection that can be paused, and notes how it ended."""

    is_aborted = False

    def unregisterProducer(self):  # noqa: N802  Twisted's name
        self.producer = None

    def abortConnection(self):  # noqa: N802  Twisted's name
        self.is_aborted = True
        self.producerState = "paused"

    @property
    def is_paused(self):
        return self.producerState == "paused"


class Connection:
    """A socket after its handshake, whose application takes every message at once."""

    def __init__(self, path):
        server = MagicMock(root_path="", proxy_forwarded_address_header=None)
        server.configure_mock(websocket_timeout=-1, ping_interval=1)
        server.create_application = lambda socket, _scope: socket.inbox
        factory = WebSocketFactory(server)
        factory.setProtocolOptions(failByDrop=False, closeHandshakeTimeout=0, utf8validateIncoming=False)
        self.socket, self.transport = Socket(), Transport()
        self.socket.factory, self.socket._raw_query_string = factory, b""
        self.socket.makeConnection(self.transport)
        self.socket.dataReceived(HANDSHAKE % path)
        self.messages = []
        self._taking = asyncio.ensure_future(self._take())

    async def _take(self):
        assert (await self.socket.inbox.get())["type"] == "websocket.connect"
        self.socket.serverAccept()
        while (message := await self.socket.inbox.get())["type"] != "websocket.disconnect":
            self.messages.append(message)

    async def receive(self, content):
        """Give the socket one read; return how many frames each turn of the event loop processed."""
        await asyncio.sleep(0)
        self.socket.dataReceived(content)
        turns = [self.socket._turn_frames]
        while self.socket._is_due:
            assert self.transport.is_paused
            await asyncio.sleep(0)
            turns.append(self.socket._turn_frames)
        await asyncio.sleep(0)
        return turns

    @property
    def close_code(self):
        """The code of the close frame that was sent, if any."""
        return self.socket.localCloseCode

    @property
    def is_over(self):
        return self.transport.is_aborted or self.close_code is not None

    def lose(self):
        self._taking.cancel()
        self.socket.connectionLost(Failure(ConnectionDone()))


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """The clock of allowances, which stands still."""
    now = [100.0]
    monkeypatch.setattr(rate_limit, "monotonic", lambda: now[0])
    return now


@pytest.fixture
async def connect():
    """Return a function that opens a socket; no connection keeps bytes of the budget."""
    before, opened = budget.used, []

    def connect(path):
        opened.append(Connection(path))
        return opened[-1]

    yield connect
    for connection in opened:
        connection.lose()
    assert budget.used == before


LIMITED = [(PAGE, name) for name in FLOODS] + [(INGEST, "pings"), (INGEST, "pongs")]
UNLIMITED = [(INGEST, name) for name in FLOODS if name not in ("pings", "pongs")]


@pytest.mark.parametrize(("path", "name"), LIMITED)
async def test_a_flood_of_unrequested_frames_ends_the_connection(connect, path, name):
    once, twice = connect(path), connect(path)
    frames = [sum(await each.receive(FLOODS[name] * size)) for each, size in ((once, 500), (twice, 1_000))]

    assert frames[0] > ALLOWANCE
    assert frames[1] <= 2.5 * frames[0]
    for each in (once, twice):
        assert len(each.messages) <= ALLOWANCE
        # A page is dropped without a close frame, so that it reconnects.
        assert each.transport.is_aborted is (path == PAGE)
        assert each.close_code == (None if path == PAGE else 4429)


@pytest.mark.parametrize(("path", "name"), [*LIMITED, *UNLIMITED])
async def test_a_turn_of_the_event_loop_processes_few_frames_of_one_read(connect, path, name):
    connection = connect(path)
    turns = await connection.receive(FLOODS[name] * 2_000)

    assert max(turns) <= TURN_MAX
    if (path, name) in UNLIMITED:
        assert sum(turns) == FLOODS[name].count(bytes(4)) * 2_000
        assert not connection.transport.is_paused


@pytest.mark.parametrize(("path", "name"), UNLIMITED)
async def test_twice_the_frames_are_twice_the_turns(connect, path, name):
    once, twice = [len(await connect(path).receive(FLOODS[name] * size)) for size in (1_000, 2_000)]

    assert twice <= 2.5 * once


async def test_a_closing_socket_reads_a_bounded_number_of_frames(connect):
    connection = connect(INGEST)
    await connection.receive(FLOODS["pings"] * (ALLOWANCE + 1))
    assert not connection.transport.is_aborted
    turns = await connection.receive(FLOODS["empty"] * 3 * DISCARDED_FRAMES)

    assert connection.transport.is_aborted
    assert sum(turns) <= DISCARDED_FRAMES + TURN_MAX
    assert not connection.messages


async def test_a_page_that_answers_every_frame_is_never_dropped(connect):
    connection = connect(PAGE)
    await connection.receive(b"")
    for number in range(5 * ALLOWANCE):
        connection.socket.serverSend(f"<!--frame {number}-->")
        await connection.receive(frame(b'{"ack":%d}' % number))

    assert len(connection.messages) == 5 * ALLOWANCE
    assert not connection.is_over


def test_an_allowance_comes_back_with_time_up_to_the_burst(clock):
    allowance = Allowance()
    assert [allowance.spend() for _ in range(ALLOWANCE + 1)] == [True] * ALLOWANCE + [False]

    clock[0] += 2.0
    given = 2 * ALLOWANCE_PER_S
    assert [allowance.spend() for _ in range(given)].count(True) == given - 1
    clock[0] += 86_400
    assert [allowance.spend() for _ in range(2 * ALLOWANCE)].count(True) <= ALLOWANCE + 1


@pytest.mark.parametrize("length", [PAGE_BYTES + 1, 65_536, 2**40, 2**62])
async def test_a_frame_that_claims_too_many_bytes_is_refused_at_its_header(connect, length):
    connection = connect(PAGE)
    await connection.receive(frame(b"x" * 100, length=length))

    assert connection.close_code == 1009
    assert connection.messages == []


async def test_messages_arrive_in_order_however_they_are_cut(connect):
    random = Random(6)
    texts = [f"{number}-" + "x" * random.choice([0, 9, 200, 3_000, 70_000]) for number in range(150)]
    stream = b"".join(
        frame(text[:at].encode(), is_last=False) + frame(text[at:].encode(), opcode=0)
        for text in texts
        for at in [random.randrange(len(text) + 1)]
    )
    connection = connect(INGEST)
    while stream:
        size = random.choice([1, 5, 1_000, 65_536, 262_144])
        await connection.receive(stream[:size])
        stream = stream[size:]

    assert [message["text"] for message in connection.messages] == texts


async def test_a_client_that_answers_pings_is_not_silent_and_one_that_does_not_is(
    connect, monkeypatch, settings
):
    time = SimpleNamespace(now=0.0, monotonic=lambda: time.now)
    monkeypatch.setattr(websocket, "time", time)
    connection, silence_s = connect(INGEST), settings.LOOPSCOPE_LIMITS["silence_s"]
    await connection.receive(frame(b"{}"))
    for _ in range(3):
        time.now += 0.9 * silence_s
        await connection.receive(frame(opcode=10))
        connection.socket.check_timeouts()
    assert not connection.is_over

    time.now += 1.1 * silence_s
    connection.socket.check_timeouts()

    assert connection.close_code == websocket.SILENT
