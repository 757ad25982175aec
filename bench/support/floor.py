"""The floor: a server with the same endpoints that does the minimum for durable lines.

Every line is read as JSON and stored verbatim; the lines, the producer's high water and a count per loop go
into one transaction that is synced (`synchronous=FULL`) before the response is sent. `/v1/traces` stores each
span as such a line, in its own protobuf. One process on Daphne,
one writer thread, group commit. No records, no rejections, no access control. `/list` is a table of 50 loops,
`/detail/SESSION` a list of the first 1,000 lines of a session, both drawn by Django's templates.

FLOOR_DB=FILE daphne bench.support.floor:application
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import sqlite3
import threading
from base64 import b64encode
from collections import Counter
from contextlib import closing
from typing import Any

import django
from django.conf import settings
from django.template import Context, Engine
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

GROUP = 64
Message = dict[str, Any]

_jobs: queue.SimpleQueue[tuple[str, int, list[bytes], asyncio.Future[int]]] = queue.SimpleQueue()
_loop: list[asyncio.AbstractEventLoop] = []

TABLES = """
CREATE TABLE IF NOT EXISTS line (
    id INTEGER PRIMARY KEY, producer TEXT, seq INTEGER, loop TEXT, type TEXT, name TEXT, at TEXT, raw BLOB);
CREATE TABLE IF NOT EXISTS producer (name TEXT PRIMARY KEY, high INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS loop (name TEXT PRIMARY KEY, session TEXT, lines INTEGER) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS line_of_loop ON line (loop, id);
CREATE INDEX IF NOT EXISTS loop_of_session ON loop (session);
"""
COUNT = """INSERT INTO loop VALUES (?, ?, ?) ON CONFLICT DO UPDATE
SET lines = lines + excluded.lines, session = COALESCE(session, excluded.session)"""
LOOPS = "SELECT name, session, lines FROM loop ORDER BY name LIMIT 50"
LINES = """SELECT id, loop, type, name, at, LENGTH(raw) FROM line
WHERE loop IN (SELECT name FROM loop WHERE session = ?) ORDER BY id LIMIT 1000"""
if not settings.configured:
    settings.configure(USE_TZ=True, USE_I18N=False)
    django.setup()
_TEMPLATES = Engine()
LIST = _TEMPLATES.from_string(
    "<table>{% for name, session, lines in rows %}<tr><td><a href='/detail/{{ session }}'>{{ name }}</a>"
    "<td>{{ lines }}</tr>{% endfor %}</table>"
)
DETAIL = _TEMPLATES.from_string(
    "<ul>{% for id, loop, type, name, at, size in rows %}<li id=e{{ id }} data-loop={{ loop }}>{{ type }} "
    "{{ name }} {{ at }} {{ size }}</li>{% endfor %}</ul>"
)
HIGH = "INSERT INTO producer VALUES (?, ?) ON CONFLICT DO UPDATE SET high = excluded.high"


async def application(scope: Message, receive: Any, send: Any) -> None:
    if not _loop:
        _loop.append(asyncio.get_running_loop())
        threading.Thread(target=_write, daemon=True).start()
    await (_socket if scope["type"] == "websocket" else _http)(scope, receive, send)


async def _http(scope: Message, receive: Any, send: Any) -> None:
    if scope["method"] == "GET":
        page, _, session = scope["path"].strip("/").partition("/")
        await _answer(send, _page(page, session), b"text/html")
        return
    headers, body, more = dict(scope["headers"]), [], scope["method"] == "POST"
    while more:
        message = await receive()
        body.append(message.get("body", b""))
        more = message.get("more_body")
    upto = -1
    if scope["path"] == "/v1/traces":
        await _store("otlp", 0, _span_lines(b"".join(body)))
        await _answer(send, b"", b"application/x-protobuf")
        return
    if body:
        producer = headers[b"x-producer"].decode()
        upto = await _store(producer, int(headers[b"x-first-seq"]), b"".join(body).splitlines())
    await _answer(send, json.dumps({"upto": upto, "rejected": []}).encode(), b"application/json")


def _span_lines(body: bytes) -> list[bytes]:
    """Return a line for each span of an export request: its ids, its name and its own bytes."""
    request = ExportTraceServiceRequest.FromString(body)
    return [
        json.dumps(
            {"loop_id": span.trace_id.hex(), "type": span.name, "session_id": span.span_id.hex(),
             "raw": b64encode(span.SerializeToString()).decode()}
        ).encode()
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]  # fmt: skip


async def _answer(send: Any, content: bytes, kind: bytes) -> None:
    headers = [(b"content-length", str(len(content)).encode()), (b"content-type", kind)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def _page(page: str, session: str) -> bytes:
    with closing(sqlite3.connect(os.environ["FLOOR_DB"])) as database:
        if page == "list":
            rows = database.execute(LOOPS).fetchall()
            return LIST.render(Context({"rows": rows})).encode()
        if page == "detail":
            rows = database.execute(LINES, [session]).fetchall()
            return DETAIL.render(Context({"rows": rows})).encode()
    return b"floor"


async def _socket(scope: Message, receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "websocket.accept"})
    producer, tasks = "", set()

    async def reply(**fields: Any) -> None:
        await send({"type": "websocket.send", "text": json.dumps(fields)})

    async def answer(first: int, body: bytes) -> None:
        await reply(op="ack", upto=await _store(producer, first, body.splitlines()), rejected=[])

    while (message := await receive())["type"] == "websocket.receive":
        head, _, body = message["text"].partition("\n")
        header = json.loads(head)
        if header["op"] == "hello":
            producer = header["producer"]
            await reply(op="welcome", v=1, producer=producer, high_water=-1)
        else:
            task = asyncio.create_task(answer(header["first"], body.encode()))
            tasks.add(task)
            task.add_done_callback(tasks.discard)


async def _store(producer: str, first: int, lines: list[bytes]) -> int:
    answer: asyncio.Future[int] = _loop[0].create_future()
    _jobs.put((producer, first, lines, answer))
    return await answer


def _write() -> None:
    database = sqlite3.connect(os.environ["FLOOR_DB"], isolation_level=None)
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "cache_size=-20000"):
        database.execute(f"PRAGMA {pragma}")
    database.executescript(TABLES)
    while True:
        group = [_jobs.get()]
        while len(group) < GROUP and not _jobs.empty():
            group.append(_jobs.get())
        results = _commit(database, group)
        _loop[0].call_soon_threadsafe(_resolve, results)


def _commit(database: sqlite3.Connection, group: list[Any]) -> list[tuple[asyncio.Future[int], int]]:
    loops: Counter[str] = Counter()
    sessions: dict[str, str | None] = {}
    high, rows, results = {}, [], []
    for producer, first, lines, answer in group:
        for seq, raw in enumerate(lines, start=first):
            event = json.loads(raw)
            loop = event.get("loop_id", "")
            loops[loop] += 1
            sessions[loop] = event.get("session_id") or sessions.get(loop)
            rows.append(
                (producer, seq, loop, event["type"], event.get("tool_name"), event.get("timestamp"), raw)
            )
        high[producer] = first + len(lines) - 1
        results.append((answer, high[producer]))
    database.execute("BEGIN IMMEDIATE")
    columns = "producer, seq, loop, type, name, at, raw"
    database.executemany(f"INSERT INTO line ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    database.executemany(COUNT, [(loop, sessions[loop], lines) for loop, lines in loops.items()])
    database.executemany(HIGH, high.items())
    database.execute("COMMIT")
    return results


def _resolve(results: list[tuple[asyncio.Future[int], int]]) -> None:
    for answer, upto in results:
        if not answer.done():
            answer.set_result(upto)
