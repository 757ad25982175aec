"""A proxy with faults: delay, limited rate, cuts, single bytes, half-open connections, no responses.

`python -m tests.faults.support.proxy --to PORT [--delay-ms 50] [--rate 10000] [--cut-after 5000]
[--ending reset] [--one-byte] [--swallow-answers]` prints the port it listens on.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Literal

CHUNK = 65_536
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close means a reset


@dataclass(frozen=True)
class Fault:
    """The faults of one connection; by default none."""

    delay_s: float = 0.0  # before each chunk, in both directions
    rate: int = 0  # bytes a second, in both directions
    cut_after: int | None = None  # bytes from the client
    ending: Literal["close", "reset", "silence"] = "close"  # how it is cut; silence is half open
    one_byte: bool = False  # what the client sends arrives in single bytes
    swallow_answers: bool = False


@contextmanager
def proxy(to: int, faults: Callable[[], Fault]) -> Iterator[int]:
    """Serve on a free port in a thread; `faults` is called once a connection."""
    loop = asyncio.new_event_loop()
    started, stop = threading.Event(), asyncio.Event()
    port: list[int] = []

    async def serve() -> None:
        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = loop.create_task(_pass(to, faults(), reader, writer))
            connection.add_done_callback(lambda _: writer.close())  # a task cancelled early runs no `finally`

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        port.append(server.sockets[0].getsockname()[1])
        started.set()
        await stop.wait()
        server.close()
        await asyncio.sleep(0)  # an accept that is cancelled before it begins leaves its socket open
        while others := asyncio.all_tasks() - {asyncio.current_task()}:  # an accept under way starts another
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    started.wait()
    try:
        yield port[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


async def _pass(to: int, fault: Fault, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        behind, beyond = await asyncio.open_connection("127.0.0.1", to)
    except OSError:
        writer.transport.abort()
        return
    ways = [
        asyncio.ensure_future(_there(fault, reader, beyond)),
        asyncio.ensure_future(_back(fault, behind, writer)),
    ]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        for end in (writer, beyond):  # before the wait, which a proxy that ends cancels
            _end(end, is_reset=fault.ending == "reset")
        await asyncio.gather(*ways, return_exceptions=True)


async def _there(fault: Fault, reader: asyncio.StreamReader, beyond: asyncio.StreamWriter) -> None:
    """Forward the client's bytes until the connection ends or is cut."""
    left = fault.cut_after
    while (left is None or left > 0) and (piece := await reader.read(CHUNK)):
        piece = piece if left is None else piece[:left]
        left = None if left is None else left - len(piece)
        await _wait(fault, len(piece))
        for part in (bytes([byte]) for byte in piece) if fault.one_byte else (piece,):
            beyond.write(part)
            await beyond.drain()
            if fault.one_byte:
                await asyncio.sleep(0)
    if left == 0 and fault.ending == "silence":
        while await reader.read(CHUNK):
            pass


async def _back(fault: Fault, behind: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await behind.read(CHUNK):
        await _wait(fault, len(piece))
        if not fault.swallow_answers:
            writer.write(piece)
            await writer.drain()


async def _wait(fault: Fault, size: int) -> None:
    if seconds := fault.delay_s + (size / fault.rate if fault.rate else 0.0):
        await asyncio.sleep(seconds)


def _end(end: asyncio.StreamWriter, *, is_reset: bool) -> None:
    line = end.get_extra_info("socket")
    if is_reset and line is not None:
        with suppress(OSError):
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    end.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=int, required=True, help="port of the server on this machine")
    parser.add_argument("--delay-ms", type=float, default=0)
    parser.add_argument("--rate", type=int, default=0)
    parser.add_argument("--cut-after", type=int)
    parser.add_argument("--ending", choices=("close", "reset", "silence"), default="close")
    parser.add_argument("--one-byte", action="store_true")
    parser.add_argument("--swallow-answers", action="store_true")
    options = vars(parser.parse_args())
    fault = Fault(delay_s=options.pop("delay_ms") / 1000, **{k: v for k, v in options.items() if k != "to"})
    with proxy(options["to"], lambda: fault) as port, suppress(KeyboardInterrupt):
        print(port, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
