"""Answers to one project while another one sends as much as it may: spans, transcripts and events in turn.

python -m bench.limits.two_projects [--seconds 20] [--database postgres://…]

A ratio is the 95th percentile of the times meanwhile, divided by that of just before. The rates of tokens are
limited as on a new server.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

from bench.limits.requests import Place, connected, post, send
from bench.live import quantiles
from bench.spans.workload import bodies
from bench.support.machine import Target, loopscope, report
from bench.support.viewers import Reader
from bench.support.workload import tape
from tests.support.build import agent_start, line

COLUMNS = ("the other project sends", "bodies/s", "answer", "alone, p95 ms", "meanwhile, p95 ms", "**ratio**")
EVERY_S = 0.05  # between two requests
SESSION_LINES, BODY_LINES = 200, 100
RATES = {"LOOPSCOPE_TOKEN_EVENTS_S": "50000", "LOOPSCOPE_TOKEN_BYTES_S": str(128 * 1024 * 1024)}

Request = Callable[[Place, int], bytes]  # of a sender that floods, by its number


def _transcript(number: int) -> bytes:
    """Return a session of Claude Code: prompts and their answers in turn."""
    common = {"sessionId": f"s{number}", "timestamp": "2026-11-22T15:00:00.000Z"}
    lines = []
    for at in range(SESSION_LINES):
        is_prompt = at % 2 == 0
        message = {"role": "user", "content": "Fix the parser."} if is_prompt else {
            "id": f"m{number}-{at}",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": [{"type": "text", "text": "Done. " * 100}],
            "usage": {"input_tokens": 100, "output_tokens": 200},
        }  # fmt: skip
        kind = "user" if is_prompt else "assistant"
        lines.append(json.dumps({**common, "type": kind, "uuid": f"u{number}-{at}", "message": message}))
    return "\n".join(lines).encode()


def _spans(target: Place, number: int) -> bytes:
    (body,) = bodies("runs", f"flood-{number}", BODY_LINES, BODY_LINES)
    return post(target, body.body, "/v1/traces", content_type="application/x-protobuf")


def _lines(target: Place, number: int) -> bytes:
    return post(target, _transcript(number), "/ingest/v1/events?format=claude-code")


def _events(target: Place, number: int) -> bytes:
    (body,) = tape(f"flood-{number}", BODY_LINES, BODY_LINES)
    return post(target, body.body)


FLOODS: dict[str, Request] = {"spans": _spans, "transcripts": _lines, "events": _events}


def main() -> None:
    params = _params()
    with loopscope(params.database, **RATES) as (target, server):
        place = Place(target, Reader(server))
        server.manage("project", "create", "flooding")
        words = ("--project", "flooding", "--scopes", "ingest", "--name", "flood")
        flooding = Target("flood", target.port, target.pid, server.manage("token", "create", *words))
        rows = [row for kind in FLOODS for row in _rows(kind, place, flooding, params.seconds)]
    report("Two projects", "One of them is flooded.", COLUMNS, rows)


def _rows(kind: str, place: Place, flooding: Target, seconds: float) -> Iterator[tuple[object, ...]]:
    alone = _ask(place, seconds)
    with _flooded(kind, Place(flooding, place.reader)) as sent:
        meanwhile = _ask(place, seconds)
    for name in alone:
        before, after = (quantiles(times[name])[1] for times in (alone, meanwhile))
        yield (
            kind,
            f"{sent.value / seconds:.0f}",
            name,
            f"{before:.0f}",
            f"{after:.0f}",
            f"**{after / before:.2f}**",
        )


def _ask(place: Place, seconds: float) -> dict[str, list[float]]:
    """Ask for a page, the read API and an acknowledgement in turn; return the milliseconds of each answer."""
    found: dict[str, list[float]] = {"page": [], "read API": [], "acknowledgement": []}
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        event = line(agent_start(f"quiet-{time.monotonic_ns()}.a.1"))
        for name, ask in (
            ("page", lambda: place.reader.get("/p/default/sessions")),
            ("read API", lambda: place.reader.server.read("/api/v1/sessions")),
            ("acknowledgement", lambda event=event: send(place, post(place, event))),
        ):
            began = time.perf_counter()
            ask()
            found[name].append((time.perf_counter() - began) * 1000)
            time.sleep(EVERY_S)  # a person and a program ask now and then
    return found


@contextmanager
def _flooded(kind: str, target: Place) -> Iterator[multiprocessing.sharedctypes.Synchronized[int]]:
    """Flood from another process; yield how many bodies were answered so far."""
    sent = multiprocessing.Value("q", 0)
    flood = multiprocessing.get_context("fork").Process(target=_flood, args=(kind, target, sent), daemon=True)
    flood.start()
    try:
        yield sent
    finally:
        flood.terminate()
        flood.join()


def _flood(kind: str, target: Place, sent: multiprocessing.sharedctypes.Synchronized[int]) -> None:
    with connected(target) as open_line:
        for number in count():
            open_line.send(FLOODS[kind](target, number))
            open_line.read_response()
            sent.value += 1


def _params() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--database", help="a PostgreSQL server; a new database is made in it")
    return parser.parse_args()


if __name__ == "__main__":
    main()
