"""Time of one call of the Python client while the server works, is down, hangs or sends a byte a second.

python -m bench.client
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from bench.support.machine import report
from loopscope_client import Client
from loopscope_client.transport.encoding import line_of

CALLS, PAUSE_S = 10_000, 0.0003  # between calls: without it the scheduler is measured, not the call
COLUMNS = ("server", "event", "bytes", "p50", "**p99**", "longest")
DELTA = {
    "type": "MessageUpdate",
    "loop_id": "bench.agent.1",
    "message": {"role": "assistant", "content": []},
    "delta": {"Text": {"delta": "a few words of an answer "}},
}
END = {
    "type": "MessageEnd",
    "loop_id": "bench.agent.1",
    "message": {"role": "assistant", "content": [{"type": "text", "text": "word " * 2_000}]},
}


def main() -> None:
    """Measure each kind of server, and the floor: a bare write of the same bytes to a file."""
    servers = {"works": works, "down": None, "hangs": hangs, "1 B/s": trickles}
    rows = []
    for event in (DELTA, END):
        rows.append(row("none: a bare write", event, writes(line_of(event) + b"\n")))
        for name, behave in servers.items():
            with listening(behave) as url:
                rows.append(row(name, event, calls(url, event)))
    report("A call of the Python client", f"{CALLS} calls a row, microseconds.", COLUMNS, rows)


def row(name: str, event: dict[str, object], took: list[int]) -> tuple[object, ...]:
    took.sort()
    figures = (took[at] // 1000 for at in (len(took) // 2, len(took) * 99 // 100, -1))
    return (name, event["type"], len(line_of(event)), *figures)


def writes(line: bytes) -> list[int]:
    """Return the nanoseconds of each write."""
    took = []
    with TemporaryDirectory() as folder:
        file = os.open(f"{folder}/lines", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for _ in range(CALLS):
            began = time.perf_counter_ns()
            os.write(file, line)
            took.append(time.perf_counter_ns() - began)
            time.sleep(PAUSE_S)  # without a pause the scheduler is measured
        os.close(file)
    return took


def calls(url: str, event: dict[str, object]) -> list[int]:
    """Return the nanoseconds of each call."""
    took = []
    with TemporaryDirectory() as spool:
        client = Client(url, "token", spool=spool, spool_bytes=1 << 28, close_s=0)
        for _ in range(CALLS):
            began = time.perf_counter_ns()
            client.send(event)
            took.append(time.perf_counter_ns() - began)
            time.sleep(PAUSE_S)  # without a pause the scheduler is measured
        client.close(0)
    return took


@contextmanager
def listening(behave: Callable[[socket.socket], None] | None) -> Iterator[str]:
    """Serve connections with `behave` on a free port; with None, refuse them."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        if behave is None:
            server.close()
        else:
            threading.Thread(target=accept, args=(server, behave), daemon=True).start()
        yield url


def accept(server: socket.socket, behave: Callable[[socket.socket], None]) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        threading.Thread(target=quietly, args=(connection, behave), daemon=True).start()


def quietly(connection: socket.socket, behave: Callable[[socket.socket], None]) -> None:
    try:
        behave(connection)
    except OSError:
        return


def works(connection: socket.socket) -> None:
    """Store nothing and acknowledge all lines."""
    stream = connection.makefile("rb")
    while head := b"".join(iter(stream.readline, b"\r\n")):
        named = dict(line.split(b": ", 1) for line in head.lower().splitlines()[1:])
        lines = stream.read(int(named[b"content-length"])).count(b"\n") + 1
        body = b'{"upto":%d,"rejected":[]}' % (int(named[b"x-first-seq"]) + lines - 1)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))


def hangs(connection: socket.socket) -> None:
    """Read nothing and send nothing."""
    time.sleep(60)  # longer than any client waits
    connection.close()


def trickles(connection: socket.socket) -> None:
    connection.recv(1 << 20)
    for byte in b"HTTP/1.1 200 OK\r\n":
        connection.sendall(bytes([byte]))
        time.sleep(1)  # one byte a second


if __name__ == "__main__":
    main()
