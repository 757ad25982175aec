"""Bodies as senders write them, and the records that they give, as text.

A case is a JSON list of `{signal, body}`, or a folder of bodies as an SDK sent them. `NAME.txt` beside it
has its records: a line a session, loop, turn, tool call and message. Figures of a turn are the uncached
input, cache read, cache write, output and reasoning.
"""

import gzip
import json

from recorder.ingest.otlp.bodies import lines_of
from recorder.models import Session
from recorder.projection.export import recorded_loops
from tests.recorder.journal.spans import captures

CASES = captures.TAPES / "cases"
NAMES = sorted(path.stem for path in CASES.glob("*.txt"))
CUT = 60  # characters of a text
BUCKETS = ("uncached_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")


def batches(name):
    """Return the lines of each body of a case, in order of arrival."""
    if (CASES / name).is_dir():
        bodies = captures.bodies(f"cases/{name}")
    else:
        path = next(CASES.glob(f"{name}.json*"))
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        bodies = [(each["signal"], json.dumps(each["body"]).encode(), True) for each in json.loads(text)]
    return [lines_of(signal, body, is_json=is_json).lines for signal, body, is_json in bodies]


def expected(name):
    return (CASES / f"{name}.txt").read_text()


def records(project):
    """Return the records of a project as text."""
    sessions = Session.objects.filter(project=project).order_by("session_id")
    return "".join(f"{line}\n" for session in sessions for line in _session(session))


def _session(session):
    yield _line("session", session.session_id, _cut(session.title), session.status, _cost(session))
    loops = list(session.loop_records.order_by("started_at", "loop_id"))
    read, _, content = recorded_loops(session)
    entries = {
        loop.id: [entry.body for entry in content(loop).entries if "type" in entry.body] for loop in read
    }
    for loop in loops:
        above = f"below {loop.parent.agent_id}" if loop.parent else ""
        ref = loop.spawned_by.first()
        via = f"via {ref.tool_name}" if ref and ref.tool_name else ""
        labels = loop.metadata or {}
        about = [f"{name} {labels[name]}" for name in ("user", "tags") if name in labels]
        outcome = loop.outcome or loop.status
        yield "  " + _line("loop", loop.agent_id, outcome, above, via, *about, _cut(loop.error))
        for turn in loop.turn_records.order_by("ordinal"):
            yield "    " + _turn(turn)
        bodies = entries[loop.pk]
        results = {
            body["tool_call_id"]: _result(body) for body in bodies if body["type"] == "ToolExecutionEnd"
        }
        for tool in loop.tool_records.order_by("started_at", "tool_name", "tool_call_id"):
            found = _cut(results.get(tool.tool_call_id, "no result"))
            yield "    " + _line("tool", tool.tool_name, tool.state, tool.summary, f"-> {found}")
        for body in bodies:
            if body["type"] == "MessageEnd":
                yield "    " + _message(body["message"])
    for anomaly in session.anomalies.order_by("kind", "text"):
        yield "  " + _line("anomaly", anomaly.kind, anomaly.text)


def _turn(turn):
    figures = "/".join("?" if (n := getattr(turn, name)) is None else str(n) for name in BUCKETS)
    usage = (
        figures if turn.cost_source != "none" or turn.uncached_tokens or turn.output_tokens else "no usage"
    )
    state = "" if turn.state == "done" else turn.state
    return _line("turn", turn.model, usage, _cost(turn), turn.stop_reason, state, _cut(turn.error))


def _result(body):
    return " ".join(block["text"] for block in body["result"]["content"])


def _message(message):
    parts = []
    content = message.get("content")
    for block in content if isinstance(content, list) else [content]:
        if not isinstance(block, dict):
            parts.append(_cut(str(block)))
        elif block["type"] == "toolCall":
            parts.append(f"call {block['name']} {json.dumps(block['arguments'], ensure_ascii=False)}")
        else:
            text = block.get("text") or block.get("thinking") or ""
            parts.append(f"({_cut(text)})" if block["type"] == "thinking" else _cut(text))
    return f"{message['role']}: {' + '.join(parts)}"


def _cost(record):
    return (
        f"${record.cost_nano / 1e9:.6f} {record.cost_source}" if record.cost_nano is not None else "no cost"
    )


def _cut(text):
    text = " ".join(text.split())
    return text if len(text) <= CUT else f"{text[:CUT]}… {len(text)}"


def _line(*parts):
    return " | ".join(str(part) for part in parts if part != "")
