"""Producers with ledgers: each counts sent and acknowledged lines, and compares the server's replies."""

from __future__ import annotations

import json
import random
import threading
from http.client import HTTPConnection, HTTPException

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from tests.faults.support import producer_stream

AWAY_S = 0.03  # between two attempts to reach a server that is down
WAIT_S = 20.0  # for an answer, which may be lost
CLOSE_S = 1.0  # a server that is cut off does not answer the close
WINDOW_FRAMES = 6
AGAIN = {429, 503}


class Producer(threading.Thread):
    """Sends its stream until it is stopped, and resumes at the server's position after a disconnect."""

    def __init__(self, name: str, port: int, token: str, seed: int) -> None:
        super().__init__(name=name, daemon=True)
        self.sent = self.acked = -1
        self.acks = 0
        self.refusals = 0  # answers "try again"
        self.faults: list[str] = []
        self.last_error = "none"  # of a connection
        self.port = port
        self.bearer = {"Authorization": f"Bearer {token}"}
        self.chance = random.Random(seed)
        self.stopping = threading.Event()
        self.limit: int | None = None  # number of lines to send
        self.most_lines = 30  # in one request or frame

    def run(self) -> None:
        while not self._is_done():
            try:
                self.converse()
            except (OSError, HTTPException, WebSocketException, EOFError) as error:
                self.last_error = repr(error)
                self.stopping.wait(AWAY_S)
            except Exception as error:
                self.faults.append(f"{self.name}: {error!r}")
                raise

    def state(self) -> str:
        """Return in words what it did and whether it still sends."""
        runs = "sends" if self.is_alive() else "has ended"
        did = f"{self.acks} acknowledgements, {self.refusals} refusals, last error {self.last_error}"
        return f"{self.name} {runs}: {did}, faults {self.faults}"

    def converse(self) -> None:
        """Send over one connection until it breaks or nothing is left to do."""
        raise NotImplementedError

    def _is_done(self) -> bool:
        return self.stopping.is_set() or (self.limit is not None and self.acked >= self.limit - 1)

    def _lines(self, first: int) -> list[bytes]:
        count = int(
            (self.most_lines + 1) ** self.chance.random()
        )  # log-uniform: small and large batches are equally frequent
        if self.limit is not None:
            count = max(0, min(count, self.limit - first))
        self.sent = max(self.sent, first + count - 1)
        return producer_stream.lines(self.name, first, count)

    def _acknowledged(self, upto: int, rejected: list) -> None:
        self.acks += 1
        if rejected:
            self.faults.append(f"{self.name}: {rejected[0]} was rejected")
        if upto > self.sent:
            self.faults.append(f"{self.name}: {upto} is acknowledged, only {self.sent} was sent")
        self.acked = max(self.acked, upto)

    def _resume(self, high: int) -> None:
        """Continue after the server's last number; it may be more than was acknowledged, never less."""
        if high < self.acked:
            self.faults.append(f"{self.name}: {self.acked} was acknowledged, the server has {high}")
        if high > self.sent:
            self.faults.append(f"{self.name}: the server has {high}, only {self.sent} was sent")
        self.acked = max(self.acked, high)


def at_work(number: int, port: int, token: str, seed: int) -> list[Producer]:
    """Return `number` producers that are not started yet, half of them over HTTP, half over WebSocket."""
    chance = random.Random(seed)
    transports = (HTTPProducer, SocketProducer)
    return [transports[n % 2](f"p{n}", port, token, chance.randrange(2**32)) for n in range(number)]


def stop(producers: list[Producer]) -> None:
    """Stop the producers after their last reply."""
    for producer in producers:
        producer.stopping.set()
    for producer in producers:
        if producer.is_alive():
            producer.join()


class HTTPProducer(Producer):
    """Sends over HTTP; repeats unacknowledged lines, and sometimes acknowledged ones."""

    def converse(self) -> None:
        line = HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        try:
            while not self._is_done():
                self._post(line)
        finally:
            line.close()

    def _post(self, line: HTTPConnection) -> None:
        repeated = self.chance.choice((0, 0, 0, 1, 5))
        first = max(0, self.acked + 1 - repeated)
        numbered = {"X-Producer": self.name, "X-First-Seq": str(first)}
        body = b"\n".join(self._lines(first))
        headers = self.bearer | numbered | {"Content-Type": "application/x-ndjson"}
        line.request("POST", "/ingest/v1/events", body, headers)
        answer = line.getresponse()
        reply = json.loads(answer.read())
        if answer.status == 200:
            self._acknowledged(reply["upto"], reply["rejected"])
        elif answer.status == 409:
            self._resume(reply["from"] - 1)
        elif answer.status in AGAIN:
            self.refusals += 1
            self.stopping.wait(AWAY_S)
        else:
            self.faults.append(f"{self.name}: {answer.status} {reply}")
            self.stopping.wait(AWAY_S)


class SocketProducer(Producer):
    """Sends over a WebSocket, with several frames in flight."""

    def converse(self) -> None:
        address = f"ws://127.0.0.1:{self.port}/ingest/v1/ws"
        with connect(
            address,
            additional_headers=self.bearer,
            compression=None,
            open_timeout=WAIT_S,
            close_timeout=CLOSE_S,
            proxy=None,
        ) as socket:
            socket.send(json.dumps({"op": "hello", "v": 1, "producer": self.name}))
            self._resume(json.loads(socket.recv(WAIT_S))["high_water"])
            next_, out = self.acked + 1, 0
            while not self._is_done():
                while out < WINDOW_FRAMES and not self.stopping.is_set():
                    lines = self._lines(next_)
                    if not lines:
                        break
                    header = json.dumps({"op": "events", "first": next_, "n": len(lines)}).encode()
                    socket.send(b"\n".join((header, *lines)).decode())
                    next_, out = next_ + len(lines), out + 1
                next_ = self._read_reply(socket, next_)
                out = 0 if self.acked == next_ - 1 else min(out, WINDOW_FRAMES - 1)

    def _read_reply(self, socket: ClientConnection, next_: int) -> int:
        """Read one reply; return the number to continue with."""
        reply = json.loads(socket.recv(WAIT_S))
        match reply["op"]:
            case "ack":
                self._acknowledged(reply["upto"], reply["rejected"])
                return next_
            case "nack":
                if reply["code"] == "gap":
                    self._resume(reply["from"] - 1)
                self.refusals += 1
                self.stopping.wait(AWAY_S)
                return int(reply["from"])
            case _:
                self.faults.append(f"{self.name}: {reply}")
                return next_
