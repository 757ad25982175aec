"""Refusals of the channel: long lines of headers, and the framing of tiny chunks before it costs much."""

from unittest.mock import MagicMock

import pytest
from twisted.internet.testing import StringTransport
from twisted.web import http

from dashboard.server.http_channel import DECODED_BYTES, FRAMING_BYTES, Channel

HEAD = b"POST /signin HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n"
TINY = b"1\r\n\n\r\n"


class NoTimer:
    def active(self):
        return False


class Transport(StringTransport):
    def abortConnection(self):  # noqa: N802  Twisted's name
        self.disconnecting = True

    def loseWriteConnection(self):  # noqa: N802
        pass


@pytest.fixture
def decoded(monkeypatch):
    """The sizes of the parts that were decoded."""
    sizes = []
    original = http._ChunkedTransferDecoder.dataReceived

    def counted(self, data):
        sizes.append(len(data))
        original(self, data)

    monkeypatch.setattr(http._ChunkedTransferDecoder, "dataReceived", counted)
    return sizes


@pytest.fixture
def connection(monkeypatch):
    monkeypatch.setattr(Channel, "callLater", lambda *_: NoTimer())
    monkeypatch.setattr(Channel, "timeOut", None)
    made = Channel()
    made.factory = made.site = MagicMock()
    made.makeConnection(Transport())
    return made


@pytest.fixture
def channel(connection):
    connection.dataReceived(HEAD)
    return connection


@pytest.mark.parametrize("lines", [b"GET /api/v1/sessions?q=", b"GET / HTTP/1.1\r\nX-Long: "])
@pytest.mark.parametrize("end", [b"", b"\r\n\r\n"], ids=["incomplete", "complete"])
def test_a_line_of_headers_that_is_too_long_is_a_431(connection, lines, end):
    connection.dataReceived(lines + b"x" * 20_000 + end)

    response = connection.transport.value()
    assert response.startswith(b"HTTP/1.1 431 ")
    assert response.count(b"HTTP/1.1 ") == 1
    assert b'"code":"too_large"' in response


@pytest.mark.parametrize("chunks", [10_000, 20_000, 160_000])
def test_tiny_chunks_are_refused_after_the_same_work_however_many_there_are(channel, decoded, chunks):
    channel.dataReceived(TINY * chunks)

    assert b" 413 " in channel.transport.value().splitlines()[0]
    assert max(decoded) <= DECODED_BYTES
    assert FRAMING_BYTES < sum(decoded) < 2 * FRAMING_BYTES


def test_bytes_that_are_no_chunks_are_refused_once(channel, decoded):
    channel.dataReceived(b"no chunk\r\n" * 10_000)

    assert channel.transport.value().count(b"HTTP/1.1 400 ") == 1
    assert sum(decoded) <= DECODED_BYTES


def test_the_next_request_behind_a_body_of_several_parts_is_answered(channel, decoded, monkeypatch):
    monkeypatch.setattr("dashboard.server.http_channel.Request.requestReceived", lambda *_: None)
    chunk = b"400\r\n" + b"x" * 1024 + b"\r\n"
    following = b"GET /healthz HTTP/1.1\r\nHost: " + b"a" * 3 * DECODED_BYTES

    channel.dataReceived(chunk * 20 + b"0\r\n\r\n" + following)

    assert channel.requests[0].content.getvalue() == b"x" * 20 * 1024
    assert b"".join(channel._dataBuffer) == following
    assert channel.transport.value() == b""
