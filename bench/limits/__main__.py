"""CPU time and event loop pauses of the worst request to each endpoint that strangers and tokens reach.

python -m bench.limits [--only NAME] [--database postgres://…]

Each attack is sent once at half and once at full size. CPU is that of the server process, which includes
its threads. The pause is the longest answer of `/healthz` on a connection of its own meanwhile, which is the
time that the event loop was blocked and the time that the machine was busy with something else.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench.support.ingest_client import Line, frame, greet
from bench.support.machine import Target, loopscope, report
from bench.support.workload import Batch, tape

MIB = 1024 * 1024
COLUMNS = (
    "endpoint and attack",
    "bytes sent",
    "answer",
    "CPU s",
    "ns a byte",
    "of half the size",
    "pause ms",
)
SETTLE_S = 0.3
REQUESTS = 50  # of a cheap request
Attack = Callable[[Target, float], tuple[int, str]]


class Pauses:
    """The longest answer of `/healthz` while the context runs."""

    def __init__(self, port: int) -> None:
        self._line = Line(port)
        self.longest_s = 0.0
        self._is_over = False
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Pauses:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        self._thread.join()
        self._line.close()

    def _watch(self) -> None:
        while not self._is_over:
            began = time.perf_counter()
            self._line.send(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            self._line.read_response()
            self.longest_s = max(self.longest_s, time.perf_counter() - began)
            time.sleep(0.002)


def main() -> None:
    options = _options()
    with loopscope(options.database) as (target, _):
        _send(target, _post(target, b"".join(batch.body for batch in tape("warm", 400, 100))))
        rows = [_row(target, name) for name in ATTACKS if options.only in name]
    report("Limits", "The worst request of each kind; CPU of the whole process.", COLUMNS, rows)


@dataclass(frozen=True, slots=True)
class Cost:
    """What an attack cost."""

    sent: int
    answer: str
    cpu_s: float
    pause_s: float


def measure(target: Target, attack: Attack, share: float) -> Cost:
    """Run an attack at a share of its full size."""
    with Pauses(target.port) as pauses:
        time.sleep(SETTLE_S)
        pauses.longest_s, before = 0.0, target.cpu_s()
        sent, answer = attack(target, share)
        cpu_s = target.cpu_s() - before
    return Cost(sent, answer, cpu_s, pauses.longest_s)


def _row(target: Target, name: str) -> tuple[object, ...]:
    half, full = (measure(target, ATTACKS[name], share) for share in (0.5, 1.0))
    ratio = f"{full.cpu_s / half.cpu_s:.1f}" if half.cpu_s > 0.1 else "-"
    each = f"{full.cpu_s / full.sent * 1e9:,.0f}"
    pause = f"{full.pause_s * 1000:.0f}"
    return name, f"{full.sent:,}", full.answer, f"**{full.cpu_s:.2f}**", each, ratio, pause


def _post(target: Target, body: bytes, **headers: str) -> bytes:
    fields = {"content-length": str(len(body)), "content-type": "application/x-ndjson"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    lines = [f"{name}: {value}" for name, value in fields.items()]
    head = f"POST /ingest/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {target.token}\r\n"
    return (head + "\r\n".join(lines)).encode() + b"\r\n\r\n" + body


def _send(target: Target, request: bytes, times: int = 1) -> tuple[int, str]:
    """Send a request and return its bytes and the status; a refusal may come before all was sent."""
    with _connected(target) as line:
        for _ in range(times):
            try:
                line.send(request)
            except OSError:  # it was refused early, and the rest was not read
                return len(request) * times, "closed"
            status, content = line.read_response()
    code = json.loads(content).get("code", "") if content.startswith(b"{") and status >= 400 else ""
    return len(request) * times, f"{status} {code}".strip()


@contextmanager
def _connected(target: Target) -> Iterator[Line]:
    line = Line(target.port)
    try:
        yield line
    finally:
        line.close()


def _body(content: Callable[[int], bytes], size: int, **headers: str) -> Attack:
    """Return an attack that posts `content` of a share of `size`."""
    return lambda target, share: _send(target, _post(target, content(int(size * share)), **headers))


def _get(path: str, *, with_token: bool = True) -> Attack:
    """Return an attack that gets a path again and again."""

    def attack(target: Target, share: float) -> tuple[int, str]:
        bearer = f"Authorization: Bearer {target.token}\r\n" if with_token else ""
        request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{bearer}\r\n"
        return _send(target, request.encode(), max(1, int(REQUESTS * share)))

    return attack


def _chunks(target: Target, share: float) -> tuple[int, str]:
    body = b"1\r\n\n\r\n" * int(MIB * share) + b"0\r\n\r\n"
    head = _post(target, b"", transfer_encoding="chunked").replace(b"content-length: 0\r\n", b"")
    return _send(target, head + body)


def _frame(content: Callable[[int], bytes]) -> Attack:
    """Return an attack by one WebSocket frame of up to 4 MiB."""

    def attack(target: Target, share: float) -> tuple[int, str]:
        with _connected(target) as line:
            greet(line, target.token, f"attack-{time.monotonic_ns()}")
            body = content(int(4 * MIB * share))
            line.send(frame(Batch("attack", 0, 1, body)))
            return len(body), str(line.receive()["op"])

    return attack


def _sign_in(target: Target, share: float) -> tuple[int, str]:
    request = b"POST /signin HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n"
    return _send(target, request, max(1, int(REQUESTS * share)))


def _events(size: int) -> bytes:
    line = b'{"type":"Unknown","x":"' + os.urandom(60).hex().encode() + b'"}\n'
    return line * (size // len(line))


ATTACKS: dict[str, Attack] = {
    "ingest: events of unknown type": _body(_events, 4 * MIB),
    "ingest: invalid lines": _body(lambda size: b"1\n" * (size // 2), 60_000),
    "ingest: blank lines": _body(lambda size: b"\n" * size, 8 * MIB),
    "ingest: one line of nested JSON": _body(lambda size: b"[" * size, 4 * MIB - 100),
    "ingest: one JSON object": _body(
        lambda size: b'{"a":[' + b"1," * (size // 2) + b"1]}", 4 * MIB - 100, content_type="application/json"
    ),
    "ingest: gzip, tiny members": _body(
        lambda size: gzip.compress(b"x") * (size // 21), 4 * MIB, content_encoding="gzip"
    ),
    "ingest: gzip, zeros": _body(lambda size: gzip.compress(b"\0" * size), 16 * MIB, content_encoding="gzip"),
    "ingest: gzip, at the ratio": _body(
        lambda size: gzip.compress(os.urandom(40_000).hex().encode() + b" " * size),
        14 * MIB,
        content_encoding="gzip",
    ),
    "ingest: chunks of one byte": _chunks,
    "ingest socket: blank lines": _frame(lambda size: b"\n" * size),
    "ingest socket: one event": _frame(lambda size: b'{"type":"X","x":"' + b"y" * size + b'"}\n'),
    "healthz": _get("/healthz", with_token=False),
    "readyz, stranger": _get("/readyz", with_token=False),
    "readyz, token": _get("/readyz"),
    "metrics": _get("/metrics"),
    "sign-in page": _get("/signin", with_token=False),
    "sign-in, refused": _sign_in,
    "static file": _get("/static/favicon.svg", with_token=False),
    "read API: sessions": _get("/api/v1/sessions?limit=200"),
    "read API: loops": _get("/api/v1/loops?limit=200"),
    "read API: usage": _get("/api/v1/usage?group_by=config"),
    "read API: description": _get("/api/v1/openapi.json", with_token=False),
    "not found": _get("/nothing", with_token=False),
}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="part of the name of an attack")
    parser.add_argument("--database")
    return parser.parse_args()


if __name__ == "__main__":
    main()
