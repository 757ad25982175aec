"""Clients of both ingest endpoints; requests and frames are built before the measurement starts."""

from __future__ import annotations

import base64
import json
import os
import socket
import struct
import threading
import time
from collections.abc import Sequence
from typing import Any

from bench.support.workload import Batch

CREDIT = 1024 * 1024
WAIT_S = 120.0
UNMASKED = b"\0\0\0\0"  # a mask of zeros leaves the text unchanged and costs nothing


class Line:
    """One connection, read buffered."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=WAIT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile("rb")

    def send(self, content: bytes) -> None:
        self._socket.sendall(content)

    def read_response(self) -> tuple[int, bytes]:
        """Read an HTTP response; one to a handshake has no body."""
        status = int(self._file.readline().split()[1])
        length, is_chunked = 0, False
        while (header := self._file.readline().strip()) != b"":
            name, _, value = header.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
            is_chunked |= name.lower() == b"transfer-encoding"
        return status, self._chunks() if is_chunked else self._file.read(length)

    def _chunks(self) -> bytes:
        parts = []
        while size := int(self._file.readline(), 16):
            parts.append(self._file.read(size + 2)[:-2])
        self._file.readline()
        return b"".join(parts)

    def receive(self) -> dict[str, Any]:
        """Read the next text frame."""
        while True:
            kind, size = self._file.read(2)
            if size >= 126:
                size = int.from_bytes(self._file.read(2 if size == 126 else 8))
            content = self._file.read(size)
            if kind & 15 == 1:
                message: dict[str, Any] = json.loads(content)
                return message
            if kind & 15 == 8:
                raise ConnectionError(f"closed with {content!r}")

    def close(self) -> None:
        self._file.close()
        self._socket.close()


def post(port: int, token: str, batches: Sequence[Batch], ready: threading.Barrier) -> None:
    """Send batches over HTTP, each once the one before it is durable."""
    line, requests = Line(port), [_request(batch, token) for batch in batches]
    ready.wait()
    for request in requests:
        while True:
            line.send(request)
            status, message = line.read_response()
            if status == 200:
                break
            assert status in (429, 503), (status, message)
            time.sleep(0.02)  # the wait before a retry
    line.close()


def export(port: int, token: str, batches: Sequence[Batch], ready: threading.Barrier) -> None:
    """Send export requests over OTLP, each once the one before it is durable."""
    line, requests = Line(port), [_otlp_request(batch, token) for batch in batches]
    ready.wait()
    for request in requests:
        while True:
            line.send(request)
            status, message = line.read_response()
            if status == 200:
                assert not message, message  # no partial success
                break
            assert status in (429, 503), (status, message)
            time.sleep(0.02)  # the wait before a retry
    line.close()


def talk(port: int, token: str, batches: Sequence[Batch], ready: threading.Barrier) -> None:
    """Send batches over a WebSocket, as many at once as the credit allows."""
    line, frames = Line(port), [frame(batch) for batch in batches]
    greet(line, token, batches[0].producer)
    ready.wait()
    out: list[tuple[int, int]] = []  # last number and size of each unacknowledged batch
    for batch, text in zip(batches, frames, strict=True):
        while out and sum(size for _, size in out) + len(text) > CREDIT:
            out = _acknowledged(line, out)
        line.send(text)
        out.append((batch.first + batch.count - 1, len(text)))
    while out:
        out = _acknowledged(line, out)
    line.close()


def greet(line: Line, token: str, producer: str) -> None:
    """Open the WebSocket and send the producer's name."""
    line.send(_handshake(token))
    assert line.read_response()[0] == 101
    line.send(text_frame(json.dumps({"op": "hello", "v": 1, "producer": producer}).encode()))
    assert line.receive()["op"] == "welcome"


def frame(batch: Batch) -> bytes:
    """Return the frame of a batch."""
    return text_frame(b'{"op":"events","first":%d,"n":%d}\n' % (batch.first, batch.count) + batch.body)


TRANSPORTS = {"HTTP": post, "WebSocket": talk, "OTLP": export}


def _acknowledged(line: Line, out: list[tuple[int, int]]) -> list[tuple[int, int]]:
    message = line.receive()
    assert message["op"] == "ack", message
    assert not message["rejected"], message
    return [each for each in out if each[0] > message["upto"]]


def _request(batch: Batch, token: str) -> bytes:
    head = (
        "POST /ingest/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-ndjson\r\n"
        f"Authorization: Bearer {token}\r\nX-Producer: {batch.producer}\r\nX-First-Seq: {batch.first}\r\n"
        f"Content-Length: {len(batch.body)}\r\n\r\n"
    )
    return head.encode() + batch.body


def _otlp_request(batch: Batch, token: str) -> bytes:
    head = (
        "POST /v1/traces HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-protobuf\r\n"
        f"Authorization: Bearer {token}\r\nContent-Length: {len(batch.body)}\r\n\r\n"
    )
    return head.encode() + batch.body


def _handshake(token: str) -> bytes:
    key = base64.b64encode(os.urandom(16)).decode()
    return (
        "GET /ingest/v1/ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\nAuthorization: Bearer {token}\r\n\r\n"
    ).encode()


def text_frame(content: bytes) -> bytes:
    """Return a masked text frame."""
    size = len(content)
    if size < 126:
        head = struct.pack("!BB", 0x81, 0x80 | size)
    elif size < 65536:
        head = struct.pack("!BBH", 0x81, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", 0x81, 0x80 | 127, size)
    return head + UNMASKED + content
