"""CPU time and event loop pauses of the worst request to each endpoint, with and without a token.

python -m bench.limits [--only NAME] [--database postgres://…]

Each attack is sent once at half and once at full size. CPU is that of the server process, which includes
its threads. The pause is the longest answer of `/healthz` on a connection of its own meanwhile, which is the
time that the event loop was blocked and the time that the machine was busy with something else.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import os
import re
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace

from bench.limits.pauses import Pauses
from bench.limits.requests import Place, connected, post, send, wait_until_read
from bench.limits.span_bodies import JSON, PROTOBUF, packed
from bench.limits.transcript_lines import TRANSCRIPTS
from bench.support.ingest_client import frame, greet, text_frame
from bench.support.machine import loopscope, report
from bench.support.viewers import Reader
from bench.support.workload import Batch, tape

MIB = 1024 * 1024
COLUMNS = (
    "endpoint and attack",
    "bytes sent",
    "answer",
    "CPU s",
    "memory MiB",
    "ns a byte",
    "of half the size",
    "pause ms",
)
SETTLE_S = 0.3
REQUESTS = 50  # of a cheap request
PAGE_FRAMES = 2_000  # of 4 KiB, to a page socket
SUBSCRIBERS = 50


Attack = Callable[[Place, float], tuple[int, str]]


def main() -> None:
    options = _options()
    with loopscope(options.database) as (target, server):
        place = Place(target, Reader(server))
        send(place, post(place, b"".join(batch.body for batch in tape("warm", 400, 100))))
        place = _recorded(place)
        rows = [_row(place, name) for name in ATTACKS if options.only in name]
    report("Limits", "The worst request of each kind; CPU of the whole process.", COLUMNS, rows)


@dataclass(frozen=True, slots=True)
class Cost:
    """What an attack cost."""

    sent: int
    answer: str
    cpu_s: float
    pause_s: float
    peak_mib: float  # above what the process held before


def measure(target: Place, attack: Attack, share: float) -> Cost:
    """Run an attack at a share of its full size."""
    with Pauses(target.port) as pauses:
        time.sleep(SETTLE_S)  # until what the attack before left is done
        pauses.longest_s, before, held = 0.0, target.cpu_s(), target.target.reset_peak_mib()
        sent, answer = attack(target, share)
        cpu_s, peak = target.cpu_s() - before, target.target.peak_mib()
    return Cost(sent, answer, cpu_s, pauses.longest_s, max(0.0, peak - held))


def _row(target: Place, name: str) -> tuple[object, ...]:
    half, full = (measure(target, ATTACKS[name], share) for share in (0.5, 1.0))
    ratio = f"{full.cpu_s / half.cpu_s:.1f}" if half.cpu_s > 0.1 else "-"
    each = f"{full.cpu_s / full.sent * 1e9:,.0f}"
    pause = f"{full.pause_s * 1000:.0f}"
    return (
        name,
        f"{full.sent:,}",
        full.answer,
        f"**{full.cpu_s:.2f}**",
        f"{full.peak_mib:.0f}",
        each,
        ratio,
        pause,
    )


def _body(content: Callable[[int], bytes], size: int, **headers: str) -> Attack:
    """Return an attack that posts `content` of a share of `size`."""
    return lambda target, share: send(target, post(target, content(int(size * share)), **headers))


def _get(path: str, *, with_token: bool = True, is_signed_in: bool = False, headers: str = "") -> Attack:
    """Return an attack that gets a path repeatedly; `{session}`, `{page}` and `{icon}` become real ones."""

    def attack(target: Place, share: float) -> tuple[int, str]:
        found = path.format(session=target.session, page=target.page, icon=target.icon)
        bearer = f"Authorization: Bearer {target.token}\r\n" if with_token and not is_signed_in else ""
        cookie = f"Cookie: {target.cookie}\r\n" if is_signed_in else ""
        request = f"GET {found} HTTP/1.1\r\nHost: 127.0.0.1\r\n{bearer}{cookie}{headers}\r\n"
        return send(target, request.encode(), max(1, int(REQUESTS * share)))

    return attack


def _subscribe(target: Place, share: float) -> tuple[int, str]:
    """Open event streams side by side, then store a batch that each of them reports."""
    request = (
        f"GET /api/v1/lifecycle HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {target.token}\r\n\r\n"
    ).encode()
    with ExitStack() as lines:
        streams = [lines.enter_context(connected(target)) for _ in range(int(SUBSCRIBERS * share))]
        for stream in streams:
            stream.send(request)
        body = b"".join(batch.body for batch in tape(f"subscribed-{share}", 400, 100))
        sent, answer = send(target, post(target, body))
    return sent + len(request) * len(streams), answer


def _page_socket(target: Place, share: float) -> tuple[int, str]:
    """Send frames of the maximum size to the socket of a page."""
    address, headers = target.reader.socket("/p/default/sessions")
    path = address.partition(f":{target.port}")[2]
    fields = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    key = base64.b64encode(os.urandom(16)).decode()
    handshake = (
        f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{target.port}\r\n"
        "Upgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n{fields}\r\n"
    ).encode()
    content = text_frame(b"[" * 4_000) * int(PAGE_FRAMES * share)
    with connected(target) as line:
        line.send(handshake)
        status, _ = line.read_response()
        line.send(content)
        send(target, b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        time.sleep(SETTLE_S)  # until the frames are refused: nothing is answered
    return len(content), str(status)


def _recorded(place: Place) -> Place:
    """Return the place with the session that was recorded, by its id and by its page."""
    with connected(place) as line:
        line.send(
            f"GET /api/v1/sessions?limit=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Authorization: Bearer {place.token}\r\n\r\n".encode()
        )
        session = json.loads(line.read_response()[1])["items"][0]["session_id"]
    listed = place.reader.get("/p/default/sessions")
    page, icon = re.search(r"/p/default/sessions/\d+", listed), re.search(r"/static/favicon[.\w]+", listed)
    assert page is not None
    assert icon is not None
    return replace(place, session=session, page=page[0], icon=icon[0])


def _chunks(target: Place, share: float) -> tuple[int, str]:
    body = b"1\r\n\n\r\n" * int(MIB * share) + b"0\r\n\r\n"
    head = post(target, b"", transfer_encoding="chunked").replace(b"content-length: 0\r\n", b"")
    return send(target, head + body)


def _frame(content: Callable[[int], bytes]) -> Attack:
    """Return an attack by one WebSocket frame of up to 4 MiB."""

    def attack(target: Place, share: float) -> tuple[int, str]:
        with connected(target) as line:
            greet(line, target.token, f"attack-{time.monotonic_ns()}")
            body = content(int(4 * MIB * share))
            line.send(frame(Batch("attack", 0, 1, body)))
            return len(body), str(line.receive()["op"])

    return attack


def _sign_in(target: Place, share: float) -> tuple[int, str]:
    request = b"POST /signin HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n"
    return send(target, request, max(1, int(REQUESTS * share)))


def _spans(body: Callable[[float], bytes], media: str = "x-protobuf") -> Attack:
    """Return an attack that posts spans within gzip, at the ratio that is allowed."""

    def attack(target: Place, share: float) -> tuple[int, str]:
        headers = {"content_type": f"application/{media}", "content_encoding": "gzip"}
        sent = send(target, post(target, packed(body(share)), "/v1/traces", **headers))
        wait_until_read(target)
        return sent

    return attack


def _transcript(lines: Callable[[float], bytes]) -> Attack:
    path = "/ingest/v1/events?format=claude-code"
    return lambda target, share: send(target, post(target, lines(share), path))


def _keys(size: int) -> bytes:
    return b"{" + b",".join(b'"%07d":1' % number for number in range(size // 12)) + b"}"


def _events(size: int) -> bytes:
    line = b'{"type":"Unknown","x":"' + os.urandom(60).hex().encode() + b'"}\n'
    return line * (size // len(line))


WORDS = "+".join(f"{letter * 20}" for letter in "abcdefgh")  # as many as a query may have
MODELS = "&".join(f"model={'m' * 100}{number}" for number in range(50))  # as many as a filter may have

ATTACKS: dict[str, Attack] = {
    "ingest: events of unknown type": _body(_events, 4 * MIB),
    "ingest: invalid lines": _body(lambda size: b"1\n" * (size // 2), 60_000),
    "ingest: blank lines": _body(lambda size: b"\n" * size, 8 * MIB),
    "ingest: one line of nested JSON": _body(lambda size: b"[" * size, 4 * MIB - 100),
    "ingest: one JSON object": _body(
        lambda size: b'{"a":[' + b"1," * (size // 2) + b"1]}", 4 * MIB - 100, content_type="application/json"
    ),
    "ingest: one JSON object of lists": _body(
        lambda size: b'{"a":[' + b"[]," * (size // 3) + b"1]}", 4 * MIB - 100, content_type="application/json"
    ),
    "ingest: one JSON object of many keys": _body(_keys, 4 * MIB - 100, content_type="application/json"),
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
    **{f"spans: {name}": _spans(body) for name, body in PROTOBUF.items()},
    **{f"spans: JSON, {name}": _spans(body, "json") for name, body in JSON.items()},
    **{f"transcripts: {name}": _transcript(lines) for name, lines in TRANSCRIPTS.items()},
    "healthz": _get("/healthz", with_token=False),
    "readyz, stranger": _get("/readyz", with_token=False),
    "readyz, token": _get("/readyz"),
    "metrics": _get("/metrics"),
    "sign-in page": _get("/signin", with_token=False),
    "sign-in refused": _sign_in,
    "static file": _get("{icon}", with_token=False),
    "sign-in link": _get("/signin/" + "x" * 43, with_token=False),
    "headers": _get(
        "/healthz", with_token=False, headers=f"X-Long: {'x' * 8_000}\r\n" + "X-More: 1\r\n" * 300
    ),
    "read API: sessions": _get("/api/v1/sessions?limit=200"),
    "read API: filters": _get(f"/api/v1/sessions?limit=200&q={WORDS}&{MODELS}"),
    "read API: session": _get("/api/v1/sessions/{session}"),
    "read API: session as of": _get("/api/v1/sessions/{session}?at=200"),
    "read API: loops": _get("/api/v1/loops?limit=200"),
    "read API: groups": _get("/api/v1/groups?limit=200"),
    "read API: compactions": _get("/api/v1/compactions?limit=200"),
    "read API: approvals": _get("/api/v1/approvals?limit=200"),
    "read API: quarantine": _get("/api/v1/quarantine?limit=200"),
    "read API: usage": _get("/api/v1/usage?group_by=config"),
    "read API: configs": _get("/api/v1/configs"),
    "read API: events": _get("/api/v1/sessions/{session}/events"),
    "read API: export": _get("/api/v1/sessions/{session}/export?as=phi-session"),
    "read API: context": _get("/api/v1/sessions/{session}/context"),
    "read API: search": _get(f"/api/v1/search?limit=200&q={WORDS}"),
    "read API: notes": _get("/api/v1/notes?limit=200"),
    "read API: scores": _get("/api/v1/scores"),
    "read API: views": _get("/api/v1/views"),
    "read API: audit": _get("/api/v1/audit"),
    "read API: description": _get("/api/v1/openapi.json"),
    "read API without a token": _get("/api/v1/sessions", with_token=False),
    "lifecycle": _subscribe,
    "page socket": _page_socket,
    "search": _get(f"/p/default/find?q={WORDS}", is_signed_in=True),
    "page: sessions": _get(f"/p/default/sessions?q={WORDS}&{MODELS}", is_signed_in=True),
    "page: session": _get("{page}", is_signed_in=True),
    "not found": _get("/nothing", with_token=False),
}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="part of the name of an attack")
    parser.add_argument("--database")
    return parser.parse_args()


if __name__ == "__main__":
    main()
