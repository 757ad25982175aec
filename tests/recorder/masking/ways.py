"""The ways by which lines come in, each with texts that hold secrets."""

import json
import shutil
import sqlite3
from contextlib import closing
from io import StringIO
from uuid import uuid4

from django.core.management import call_command

from recorder.core.sources import OTLP
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.ingest.commit.span_backlog import PRODUCER
from recorder.masking.unfinished.tails import LEADING
from tests.recorder.journal.spans import pairs
from tests.support.build import (
    agent_end,
    agent_start,
    assistant,
    line,
    message_end,
    message_start,
    message_update,
    progress,
    tool_end,
    tool_start,
    tool_update,
    turn_end,
    turn_start,
    user,
)
from tests.support.endpoint_clients import Client, post
from tests.support.foreign_tapes import TAPES, tape

TRANSCRIPTS = ("claude-code/plain", "codex/parallel", "gemini-cli/write")
WORDS_MIN = 12  # characters of a text that is no id


def spellings(text):
    """Return a text as it is, as JSON within JSON, and the lines of both with other escapes."""
    nested = json.dumps({"env": json.dumps({"note": text})})
    return [text, nested, f"{text} "]


def escaped(raw, text):
    """Return a line in which a text is written in Unicode escapes."""
    plain = json.dumps(text)[1:-1].encode()
    assert plain in raw
    return raw.replace(plain, "".join(f"\\u{ord(each):04x}" for each in text).encode())


def native(name, text):
    """Return the lines of a loop that has a text in every kind of content, in each spelling."""
    loop = f"{name}.a.1"
    plain, nested, spaced = spellings(text)
    events = [
        agent_start(loop, title=f"use {text}", metadata={"labels": {"note": plain}}),
        turn_start(loop),
        message_end(loop, message=user(f"it is {plain}")),
        message_start(loop),
        tool_start(loop, args={"command": f"export K='{plain}'", "json": nested, plain: 1}),
        tool_end(loop) | {"result": {"content": [{"type": "text", "text": nested}]}},
        message_end(loop, message=assistant(f"done with {plain}")),
        turn_end(loop, message=assistant(f"done with {plain}")),
        agent_end(loop, messages=[user(nested)], error=plain),
        {"type": "Custom", "loop_id": loop, "content": [plain, nested]},
    ]
    last = line({"type": "Custom", "loop_id": loop, "content": spaced})
    return [*map(line, events), escaped(last, spaced)]


def streamed(name, text):
    """Return the lines of an answer and a running tool that have the text in two parts."""
    loop, middle = f"{name}.a.1", len(text) // 2
    message = assistant(f"it is {text} ")
    begin = [agent_start(loop), turn_start(loop), message_start(loop)]
    pieces = ("it is ", text[:middle], text[middle:], " ")
    parts = [message_update(loop, text=piece) for piece in pieces]
    tool = [tool_start(loop), *(tool_update(loop, text=piece) for piece in pieces)]
    tool += [tool_update(loop, text=text[:size], call="c2") for size in (middle, len(text))]
    if name.removeprefix("ws-") not in LEADING:  # which show a part before the anchor at the end of a message
        tool += [progress(loop, text=piece) for piece in pieces]
    end = [message_end(loop, message=message), turn_end(loop, message=message), agent_end(loop)]
    return [line(event) for event in (*begin, *parts, *tool, *end)]


def by_http(token, texts):
    body = [raw for name, text in texts.items() for raw in native(f"http-{name}", text)]
    bad = [b'{"type": "AgentStart", "note": %s}' % json.dumps(text).encode() for text in texts.values()]
    answer = post(b"\n".join([*body, *bad]), token)
    assert (answer.status, len(answer.json["rejected"])) == (200, len(bad))


async def by_websocket(token, texts):
    """Send each line in a frame of its own: parts of a secret come in several frames."""
    first = 0
    async with Client(token) as client:
        await client.hello()
        for name, text in texts.items():
            for raw in streamed(f"ws-{name}", text):
                await client.send(first, raw)
                first += 1
            await client.upto(first - 1)


def by_otlp(project, texts):
    attributes = [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
        {"key": "gen_ai.request.model", "value": {"stringValue": "m"}},
    ]
    lines = []
    for text in texts.values():
        message = json.dumps([{"role": "user", "parts": [{"type": "text", "content": text}]}])
        more = [{"key": "gen_ai.input.messages", "value": {"stringValue": message}}]
        more += [{"key": "note", "value": {"stringValue": each}} for each in spellings(text)]
        span = {
            "traceId": uuid4().hex,
            "spanId": uuid4().hex[:16],
            "name": "chat",
            "attributes": attributes + more,
            "startTimeUnixNano": "1771000000000000000",
            "endTimeUnixNano": "1771000001000000000",
        }
        record = {"timeUnixNano": "1771000000000000000", "eventName": "x", "body": {"stringValue": text}}
        bodies = (
            {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]},
            {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]},
        )
        lines += [json.dumps(body).encode() for body in bodies]
    assert ingest(Batch(project.pk, PRODUCER, None, lines, OTLP)).rejected == []


def by_transcripts(project, texts):
    """Record transcripts of coding agents, and the events of cagent."""
    every = "\n".join(texts.values())
    for pair in TRANSCRIPTS:
        for producer, lines in pairs.transcripts(pair).items():
            made = planted(lines, every)
            ingest(Batch(project.pk, producer, None, made, pair.partition("/")[0], flush=True))
    lines = planted(tape("cagent/two-turns.reconstructed.events.jsonl"), every)
    ingest(Batch(project.pk, "cagent", 0, lines, "cagent", flush=True))


def by_imports(folder, texts):
    """Import a file of events, sessions of phi-core, and stores of cagent and aidaemon."""
    every = "\n".join(texts.values())
    events, sessions = folder / "events.jsonl", folder / "sessions.json"
    events.write_bytes(
        b"\n".join(raw for name, text in texts.items() for raw in native(f"file-{name}", text))
    )
    content = json.loads((TAPES / "phi-core" / "01-tools-two-prompts.sessions.json").read_text())
    sessions.write_text(json.dumps(_plant(content, every)))
    cagent, aidaemon = folder / "session.db", folder / "aidaemon.db"
    shutil.copy(TAPES / "cagent" / "one-session.v15.db", cagent)
    shutil.copy(TAPES / "aidaemon" / "events.hand-made.db", aidaemon)
    _plant_column(cagent, "session_items", "message_json", every)
    _plant_column(aidaemon, "events", "data", every)
    for path in (events, sessions, cagent, aidaemon):
        call_command("import_runs", str(path), stdout=StringIO(), stderr=StringIO())


def _plant_column(path, table, column, text):
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute(f"SELECT rowid, {column} FROM {table} WHERE {column} LIKE '{{%'").fetchall()
        assert rows
        for key, content in rows:
            made = json.dumps(_plant(json.loads(content), text))
            database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (made, key))
        database.commit()


def planted(lines, text):
    """Return lines of JSON whose texts end with another one."""
    made = [json.dumps(_plant(json.loads(raw), text)).encode() for raw in lines]
    assert made != [json.dumps(json.loads(raw)).encode() for raw in lines]
    return made


def _plant(value, text):
    if isinstance(value, dict):
        return {key: _plant(each, text) for key, each in value.items()}
    if isinstance(value, list):
        return [_plant(each, text) for each in value]
    is_text = isinstance(value, str) and " " in value and len(value) >= WORDS_MIN and value[0] not in "{["
    return f"{value}\n{text}\n" if is_text else value
