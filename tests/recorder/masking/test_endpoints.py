"""No secret is stored, whichever way a line comes: in no table, and in no byte of the database file."""

import gzip
import json
import shutil
import sqlite3
from contextlib import closing
from io import StringIO
from pathlib import Path
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async
from django.core.management import call_command
from django.db import connection

from recorder.core.sources import OTLP
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.ingest.commit.span_backlog import PRODUCER, Backlog
from recorder.journal.read import texts
from recorder.masking.counts import masks_in
from recorder.models import JournalEvent, LoopRecord, QuarantinedLine, TextBlock, WaitingSpans
from recorder.projection.rebuild import rebuild
from tests.support.build import (
    agent_end,
    agent_start,
    assistant,
    line,
    message_end,
    message_start,
    message_update,
    tool_end,
    tool_start,
    turn_end,
    turn_start,
    user,
)  # fmt: skip
from tests.support.endpoint_clients import HOST, Client, post, request
from tests.support.foreign_tapes import TAPES, tape
from tests.support.journal_bytes import file_content
from tests.support.wait import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sqlite]


@pytest.fixture
def secret():
    """A key of its own: the file of the database may have bytes of earlier tests."""
    return f"AKIA{uuid4().hex[:16].upper()}"


def everywhere(secret):
    """Return where a secret stands: names of tables, and of files with it."""
    found = []
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        for (table,) in cursor.fetchall():
            cursor.execute(f'SELECT * FROM "{table}"')
            found += [table for row in cursor.fetchall() if any(holds(value, secret) for value in row)]
    file = Path(connection.settings_dict["NAME"])
    for part in file.parent.glob(f"{file.name}*"):
        found += [part.name] if holds(file_content(part), secret) else []
    return found


def holds(value, secret):
    return secret.encode() in value if isinstance(value, bytes) else secret in str(value)


def loop_with(secret):
    """Return a loop that has a secret in every kind of content, and its lines."""
    inner = json.dumps({"env": json.dumps({"key": secret}), secret: 1})
    events = [
        agent_start("s.a.1", metadata={"labels": {"note": secret}}, title=f"use {secret}"),
        turn_start("s.a.1"),
        message_end(message=user(f"my key is {secret}")),
        message_start(),
        message_update(text=f"key {secret}"),
        message_update(text=f"key {secret}", kind="Thinking"),
        tool_start(args={"command": f"export K={secret}\n", "json": inner}),
        tool_end(),
        message_end(message=assistant(f"done with {secret}")),
        turn_end("s.a.1", message=assistant(f"done with {secret}")),
        agent_end("s.a.1", messages=[user(f"my key is {secret}"), assistant(secret)], error=secret),
        {"type": "Unknown", "loop_id": "s.a.1", secret: [secret]},
    ]
    return [line(event) for event in events]


def stored_lines():
    keys = list(JournalEvent.objects.filter(kind="line").order_by("pk").values_list("pk", flat=True))
    found = texts(keys)
    return [found[key] for key in keys]


def test_events_by_http(token, secret):
    lines = loop_with(secret)
    escaped = lines[2].replace(secret.encode(), b"\\u0041" + secret[1:].encode())

    answer = post(b"\n".join([*lines, escaped]), token)

    assert (answer.status, answer.json["accepted"]) == (200, len(lines) + 1)
    assert everywhere(secret) == []
    rows = JournalEvent.objects.filter(kind="line").order_by("pk").values_list("masked", flat=True)
    assert [masks or 0 for masks in rows] == [masks_in(each) for each in stored_lines()]
    assert LoopRecord.objects.get().status == "completed"


def test_a_body_that_is_sent_again_is_a_duplicate(token, secret):
    body = b"\n".join(loop_with(secret))
    headers = {"x_producer": "p", "x_first_seq": 0}
    first, second = post(body, token, **headers), post(body, token, **headers)

    assert first.json["rejected"] == second.json["rejected"] == []
    assert second.json["duplicates"] == first.json["accepted"]
    assert not QuarantinedLine.objects.exists()


def test_rejected_lines_are_masked_in_quarantine(token, secret):
    bad = [
        b'{"type": "AgentStart", "note": "%s"}' % secret.encode(),
        b'{"cut": "%s' % secret.encode(),
        b"\xff%s" % secret.encode(),
        b'"%s"' % secret.encode(),
    ]
    answer = post(b"\n".join(bad), token, x_producer="p", x_first_seq=0)
    conflict = post(line({"type": "X", "key": secret}), token, x_producer="q", x_first_seq=0)
    conflict = post(line({"type": "Y", "key": secret}), token, x_producer="q", x_first_seq=0)

    assert len(answer.json["rejected"]) == 4
    assert conflict.json["rejected"][0]["code"] == "seq_conflict"
    assert QuarantinedLine.objects.count() == 5
    assert everywhere(secret) == []


def test_secrets_in_fields_of_the_envelope_are_masked_in_quarantine_and_in_unknown_events(token, secret):
    bad = [
        b'{"type": ["%s"]}',
        b'{"type": "TurnStart", "type": 5, "loop_id": "%s"}',
        b'{"type": "TurnStart", "loop_id": "l", "turn_index": 0, "timestamp": "%s"}',
        b'{"type": "AgentStart", "session_id": "x %s\\u0001"}',
        b'{"type": "AgentStart", "session_id": "%s"}',
        b'{"type": "TurnStart", "type": "%s"}',
    ]
    unknown = [b'{"type": "Weird %s"}', b'{"type": "Weird-%s"}']
    lines = [each % secret.encode() for each in (*bad, *unknown)]
    answer = post(b"\n".join(lines), token, x_producer="p", x_first_seq=0)
    again = post(b"\n".join(lines), token, x_producer="p", x_first_seq=0)

    assert [each["seq"] for each in answer.json["rejected"]] == list(range(len(bad)))
    assert answer.json["accepted"] == len(unknown)
    assert (again.json["accepted"], again.json["rejected"]) == (0, [])
    assert everywhere(secret) == []


async def test_events_by_websocket(token, secret):
    lines = loop_with(secret)
    async with Client(token) as client:
        await client.hello()
        await client.send(0, *lines)
        await client.upto(len(lines) - 1)
        await client.send(0, *lines)
        again = await client.receive()

    assert (again["upto"], again["rejected"]) == (len(lines) - 1, [])
    assert await database_sync_to_async(everywhere)(secret) == []


def span_body(secret, **more):
    text = json.dumps([{"role": "user", "parts": [{"type": "text", "content": f"key\n{secret}"}]}])
    attributes = [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
        {"key": "gen_ai.request.model", "value": {"stringValue": "m"}},
        {"key": "gen_ai.input.messages", "value": {"stringValue": text}},
        {"key": "note", "value": {"arrayValue": {"values": [{"stringValue": secret}]}}},
    ]
    times = {"startTimeUnixNano": "1771000000000000000", "endTimeUnixNano": "1771000001000000000"}
    span = {"traceId": uuid4().hex, "spanId": uuid4().hex[:16], "name": f"chat {secret}", **times}
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span | {"attributes": attributes} | more]}]}]}


def otlp(path, body, token):
    headers = [HOST, (b"content-type", b"application/json"), (b"authorization", f"Bearer {token}".encode())]
    answer = request(path, json.dumps(body).encode(), method="POST", headers=headers)
    until(lambda: not WaitingSpans.objects.exists(), "acknowledged spans are not read")
    return answer


def test_spans_by_otlp(token, secret):
    body = span_body(secret)
    assert otlp("/v1/traces", body, token).json == {}
    assert otlp("/v1/traces", body, token).json == {}

    assert everywhere(secret) == []
    (stored,) = stored_lines()
    sent = body["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    found = json.loads(stored)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    assert [found[name] for name in ("traceId", "spanId", "startTimeUnixNano", "endTimeUnixNano")] == [
        sent[name] for name in ("traceId", "spanId", "startTimeUnixNano", "endTimeUnixNano")
    ]
    assert JournalEvent.objects.get(kind="line").masked == 3


def test_log_records_by_otlp(token, secret):
    record = {"timeUnixNano": "1771000000000000000", "eventName": "x", "body": {"stringValue": secret}}
    body = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    assert otlp("/otlp/v1/logs", body, token).status == 200
    assert everywhere(secret) == []


def test_spans_that_wait_to_be_read(project, secret):
    raw = json.dumps(span_body(secret)).encode()
    batch = Batch(project.pk, PRODUCER, None, [raw], OTLP, may_wait=True)
    backlog = Backlog()
    backlog.store([batch])

    assert WaitingSpans.objects.count() == 1
    assert everywhere(secret) == []
    ingest(backlog.next()[0])
    assert JournalEvent.objects.get(kind="line").masked == 3


def test_imported_event_files(project, secret, tmp_path):
    file = tmp_path / "events.jsonl.gz"
    file.write_bytes(gzip.compress(b"\n".join(loop_with(secret))))
    for _ in range(2):
        call_command("import_runs", str(file), stdout=StringIO(), stderr=StringIO())

    assert everywhere(secret) == []
    assert JournalEvent.objects.filter(kind="line").count() == len(loop_with(secret))


def test_imported_phi_core_sessions(project, secret, tmp_path):
    file = tmp_path / "sessions.json"
    text = (TAPES / "phi-core" / "01-tools-two-prompts.sessions.json").read_text()
    content = json.loads(text)
    planted = plant(content, secret)
    assert planted > 0
    file.write_text(json.dumps(content))
    counts = []
    for _ in range(2):
        call_command("import_runs", str(file), stdout=StringIO(), stderr=StringIO())
        counts.append(JournalEvent.objects.count())

    assert everywhere(secret) == []
    assert counts[0] == counts[1] > 0


def plant(value, secret):
    """Add a secret to each text of content; return how many have it."""
    if isinstance(value, list):
        return sum(plant(each, secret) for each in value)
    if not isinstance(value, dict):
        return 0
    number = sum(plant(each, secret) for each in value.values())
    if isinstance(value.get("text"), str):
        value["text"] += f"\n{secret}"
        number += 1
    return number


def test_imported_cagent_stores(project, secret, tmp_path):
    store = tmp_path / "session.db"
    shutil.copy(TAPES / "cagent" / "one-session.v15.db", store)
    with closing(sqlite3.connect(store)) as database:
        rows = database.execute("SELECT id, message_json FROM session_items WHERE message_json != ''")
        for key, content in rows.fetchall():
            message = json.loads(content)
            message["content"] = f"{message.get('content') or ''} {secret}"
            database.execute(
                "UPDATE session_items SET message_json = ? WHERE id = ?", (json.dumps(message), key)
            )
        database.commit()
    counts = []
    for _ in range(2):
        call_command("import_runs", str(store), stdout=StringIO(), stderr=StringIO())
        counts.append(JournalEvent.objects.count())

    assert everywhere(secret) == []
    assert counts[0] == counts[1] > 0


def test_a_secret_in_parts_is_whole_in_no_record_once_the_message_is_whole(project, secret):
    """cagent streams answers without the whole text; its reader joins the parts."""
    lines = tape("cagent/two-turns.reconstructed.events.jsonl")
    at = next(at for at, each in enumerate(lines) if b'"agent_choice"' in each)
    event = json.loads(lines[at])
    parts = [json.dumps(event | {"content": part}).encode() for part in (f" {secret[:9]}", f"{secret[9:]} ")]
    ingest(Batch(project.pk, "p", 0, [*lines[: at + 1], *parts, *lines[at + 1 :]], "cagent"))

    assert [table for table in everywhere(secret) if table.startswith("recorder_")] == []
    before = derived()
    rebuild(project)
    assert derived() == before
    assert [table for table in everywhere(secret) if table.startswith("recorder_")] == []


def derived():
    return list(JournalEvent.objects.filter(kind="read").order_by("pk").values_list("pk", "own"))


def test_streaming_text_is_masked_when_its_parts_are_joined(project, secret):
    begin = [agent_start("s.a.1"), turn_start("s.a.1"), message_start()]
    parts = [message_update(text=part) for part in ("key ", secret[:9], secret[9:], " then")]
    ingest(Batch(project.pk, "p", 0, [line(event) for event in (*begin, *parts)]))
    assert secret not in TextBlock.objects.get().text
    assert TextBlock.objects.get().text.endswith(" then")
