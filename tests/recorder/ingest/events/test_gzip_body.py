"""Gzip bodies of any kind: inflated in linear time, within bounds, never on the event loop."""

import asyncio
import gzip
import sys
import threading
import zlib

import pytest
from asgiref.testing import ApplicationCommunicator

from dashboard.asgi import application
from recorder.ingest.events import endpoint as http
from recorder.ingest.http.content_encoding import CHUNK, MEMBERS, RATIO, RATIO_FROM, inflated
from recorder.ingest.http.response import Fault
from recorder.journal.batch import lines_of
from recorder.models import JournalEvent
from tests.support.build import agent_start, line
from tests.support.endpoint_clients import HOST, post, request
from tests.support.wait import LONGEST_S

LIMIT = 16 * 2**20
TINY = gzip.compress(b"x", mtime=0)


ORIGINAL = zlib.decompressobj


class Spy:
    """zlib, counting the bytes that are given to inflate, and noting where."""

    def __init__(self, monkeypatch):
        self.bytes = 0
        self.on_loop = []
        self.before = lambda: None
        monkeypatch.setattr(zlib, "decompressobj", lambda bits: Inflater(self, ORIGINAL(bits)))


class Inflater:
    def __init__(self, spy, inner):
        self._spy, self._inner = spy, inner

    def decompress(self, part, most):
        self._spy.before()
        self._spy.bytes += len(part)
        self._spy.on_loop.append(is_on_loop())
        return self._inner.decompress(part, most)

    def __getattr__(self, name):
        return getattr(self._inner, name)


def is_on_loop():
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@pytest.fixture
def spy(monkeypatch):
    return Spy(monkeypatch)


async def call(path, body=b"", token=""):
    """Return the status of a request on this event loop."""
    headers = [HOST, (b"authorization", f"Bearer {token}".encode()), (b"content-encoding", b"gzip")]
    scope = {
        "type": "http",
        "method": "POST" if body else "GET",
        "path": path,
        "headers": [*headers, (b"content-type", b"application/x-ndjson")],
        "query_string": b"",
    }
    communicator = ApplicationCommunicator(application, scope)
    await communicator.send_input({"type": "http.request", "body": body})
    return (await communicator.receive_output(LONGEST_S))["status"]


def fault_of(packed, limit=LIMIT):
    with pytest.raises(Fault) as found:
        inflated(packed, limit)
    return found.value.status, found.value.body["code"]


def test_as_many_members_as_allowed_are_read_across_chunks():
    text = bytes(range(256)) * 40
    members = b"".join(gzip.compress(text[at:] + b"\n", compresslevel=0) for at in range(MEMBERS))

    assert len(members) > 5 * CHUNK
    assert inflated(members, LIMIT) == b"".join(text[at:] + b"\n" for at in range(MEMBERS))


@pytest.mark.parametrize("size", [2 * CHUNK - 20, 2 * CHUNK, 2 * CHUNK + 1])
def test_a_member_may_end_anywhere_in_a_chunk(size):
    first = gzip.compress(b"a" * (size - 33), compresslevel=0)

    assert inflated(first + TINY, LIMIT).endswith(b"ax")


def test_one_member_more_is_refused_whatever_the_size():
    assert inflated(TINY * MEMBERS, LIMIT) == b"x" * MEMBERS
    assert fault_of(TINY * (MEMBERS + 1)) == (400, "bad_encoding")


def test_four_mib_of_tiny_members_cost_what_the_allowed_ones_cost(spy):
    fault_of(TINY * (2 * 2**20 // len(TINY)))
    once, spy.bytes = spy.bytes, 0
    assert fault_of(TINY * (4 * 2**20 // len(TINY))) == (400, "bad_encoding")

    assert spy.bytes == once <= MEMBERS * CHUNK


@pytest.mark.parametrize("members", [1, 16])
def test_twice_the_body_is_twice_the_work(spy, members):
    member = gzip.compress(bytes(range(256)) * (2**20 // 256 // members), compresslevel=0)
    inflated(member * members, LIMIT)
    once, spy.bytes = spy.bytes, 0
    inflated(member * 2 * members, LIMIT)

    assert spy.bytes <= 2.5 * once


def test_a_ratio_of_gzip_bombs_is_refused_early(spy):
    bomb = gzip.compress(b"\0" * (8 * 2**20))

    assert len(bomb) * RATIO < 8 * 2**20
    assert fault_of(bomb) == (413, "too_large")
    assert inflated(gzip.compress(b" " * RATIO_FROM), LIMIT) == b" " * RATIO_FROM


def test_the_limit_of_inflated_bytes_is_exact():
    packed = gzip.compress(b"0123456789", mtime=0)

    assert inflated(packed, 10) == b"0123456789"
    assert fault_of(packed, 9) == (413, "too_large")


def test_no_byte_is_inflated_on_the_event_loop(token, spy):
    packed = gzip.compress(line(agent_start("s.a.1")))

    assert post(packed, token, content_encoding="gzip").status == 200
    assert spy.on_loop == [False]


async def test_health_is_answered_while_a_body_is_inflated(token, spy):
    """The inflater waits for the answer of `/healthz`, which the same event loop gives."""
    is_inflating, may_go_on = threading.Event(), threading.Event()

    def wait():
        is_inflating.set()
        assert may_go_on.wait(LONGEST_S)

    spy.before = wait
    packed = gzip.compress(line(agent_start("s.a.1")))
    posting = asyncio.create_task(call("/ingest/v1/events", packed, token))
    await asyncio.to_thread(is_inflating.wait, 20)

    assert await call("/healthz") == 200
    may_go_on.set()
    assert await posting == 200


@pytest.mark.parametrize("packed", [TINY * 100, TINY[:2] * 4000], ids=["members", "not gzip"])
def test_the_body_of_a_refused_request_is_freed_before_the_answer_is_sent(token, packed):
    kept = []
    headers = [HOST, (b"authorization", f"Bearer {token}".encode()), (b"content-encoding", b"gzip")]
    headers.append((b"content-type", b"application/x-ndjson"))
    scope = {"method": "POST", "path": "/ingest/v1/events", "headers": headers, "query_string": b""}

    async def receive():
        return {"type": "http.request", "body": packed}

    async def send(message):
        for _ in range(500):  # the thread that inflated may need a moment to let go
            if sys.getrefcount(packed) == before:
                return
            await asyncio.sleep(0.01)
        kept.append(message["type"])

    before = sys.getrefcount(packed)
    asyncio.run(http.ingest_http(scope, receive, send))

    assert not kept


def test_a_refused_gzip_body_stores_nothing(token):
    answer = post(TINY * (MEMBERS + 1), token, content_encoding="gzip")

    assert (answer.status, answer.json["code"]) == (400, "bad_encoding")
    assert not JournalEvent.objects.exists()
    assert request("/healthz").status == 200


@pytest.mark.parametrize(
    ("body", "is_short"),
    [
        (b" " * http.INLINE_BYTES, True),
        (b" " * http.INLINE_BYTES + b"\n", False),
        (b"\n" * http.INLINE_LINES, True),
        (b"\n" * (http.INLINE_LINES + 1), False),
    ],
    ids=["short", "many bytes", "few lines", "many lines"],
)
def test_a_plain_body_is_read_on_the_event_loop_only_if_it_is_short(token, monkeypatch, body, is_short):
    on_loop = []

    def read(body):
        on_loop.append(is_on_loop())
        return lines_of(body)

    monkeypatch.setattr(http, "lines_of", read)
    assert post(body, token).status == 200

    assert on_loop == [is_short]
