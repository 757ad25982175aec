"""How long a call of the Python client takes while the server is well, gone, hangs or says a byte a second.

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

CALLS, PAUSE_S = 10_000, 0.0003  # an agent does other things too; without a pause the scheduler is measured
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
    """Measure each kind of server, beside the floor: a bare write of the same bytes to a file."""
    servers = {"well": well, "gone": None, "hangs": hangs, "1 B/s": trickles}
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
            time.sleep(PAUSE_S)  # an agent works between its calls
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
            time.sleep(PAUSE_S)  # an agent works between its calls
        client.close(0)
    return took


@contextmanager
def listening(behave: Callable[[socket.socket], None] | None) -> Iterator[str]:
    """Serve as told on a free port."""
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
            asking, _ = server.accept()
        except OSError:
            return
        threading.Thread(target=quietly, args=(asking, behave), daemon=True).start()


def quietly(asking: socket.socket, behave: Callable[[socket.socket], None]) -> None:
    try:
        behave(asking)
    except OSError:
        return


def well(asking: socket.socket) -> None:
    """Store nothing and say that all is stored."""
    stream = asking.makefile("rb")
    while head := b"".join(iter(stream.readline, b"\r\n")):
        named = dict(line.split(b": ", 1) for line in head.lower().splitlines()[1:])
        lines = stream.read(int(named[b"content-length"])).count(b"\n") + 1
        said = b'{"upto":%d,"rejected":[]}' % (int(named[b"x-first-seq"]) + lines - 1)
        asking.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(said), said))


def hangs(asking: socket.socket) -> None:
    """Read nothing and answer nothing."""
    time.sleep(60)  # longer than any client waits
    asking.close()


def trickles(asking: socket.socket) -> None:
    asking.recv(1 << 20)
    for byte in b"HTTP/1.1 200 OK\r\n":
        asking.sendall(bytes([byte]))
        time.sleep(1)  # one byte a second


if __name__ == "__main__":
    main()
