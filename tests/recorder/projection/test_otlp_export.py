"""A session exported as spans and imported again has the same totals."""

import json
from contextlib import suppress
from io import BytesIO, StringIO, TextIOWrapper

import pytest
from django.core.management import CommandError, call_command

from recorder.core.formats.otlp.spans.attributes import mapping
from recorder.ingest.otlp.bodies import lines_of
from recorder.models import Project, Session
from recorder.projection.otlp_export import otlp_request
from tests.recorder.journal.spans import captures
from tests.support.foreign_tapes import TAPES

pytestmark = pytest.mark.django_db(transaction=True)
COUNTS = ("turns", "tool_calls", "errors", "loops", "compactions")
LABELS = ("title", "title_given", "tags", "metadata")
FIGURES = (
    *("uncached_tokens", "cache_read_tokens", "cache_write_tokens", "visible_tokens", "reasoning_tokens"),
    *("cost_nano", *COUNTS),
)
FOLDERS = ("phi-core", "cagent", "aidaemon", "grida", "claude-code", "codex", "gemini-cli", "opencode", "pi")
STREAMS = sorted(
    str(path.relative_to(TAPES))
    for folder in FOLDERS
    for path in (TAPES / folder).rglob("*")
    if path.suffix in (".jsonl", ".json", ".db") and "expected" not in path.name
)


def totals(session):
    """Return the figures of a session; tokens only if all its calls reconcile."""
    names = COUNTS if session.unreconciled else FIGURES
    return {name: getattr(session, name) or 0 for name in (*names, *LABELS)}


def round_trip(tmp_path, encoding):
    """Export every session and import it into a project of its own; yield what differs in totals."""
    target = Project.objects.create(slug=f"again-{encoding}")
    for number, session in enumerate(Session.objects.filter(project__slug="default").order_by("pk")):
        file = tmp_path / f"{number}-traces.{'json' if encoding == 'json' else 'pb'}"
        file.write_bytes(b"".join(otlp_request(session, encoding)))
        call_command("import_runs", str(file), project=target.slug, stdout=StringIO(), stderr=StringIO())
        again = Session.objects.filter(project=target, session_id=session.session_id).first()
        wanted = totals(session)
        # What a loop reports at its end, without turns, becomes one call.
        wanted["turns"] += session.loop_records.filter(is_one_call=True, turns=0).count()
        found = {name: getattr(again, name, None) or 0 for name in wanted}
        if wanted != found:
            yield session.session_id, {k: (v, found.get(k)) for k, v in wanted.items() if v != found.get(k)}


@pytest.mark.parametrize("stream", ["hostile.events.jsonl", *STREAMS])
def test_streams(tmp_path, stream):
    Project.objects.create(slug="default")
    with suppress(CommandError):  # some have lines that are rejected
        call_command("import_runs", str(TAPES / stream), stdout=StringIO(), stderr=StringIO())

    assert list(round_trip(tmp_path, "json")) == []


@pytest.mark.parametrize("capture", captures.CAPTURES)
def test_captures_of_spans(tmp_path, capture):
    project = Project.objects.create(slug="default")
    for batch in captures.lines(capture):
        captures.record(project, batch)

    assert list(round_trip(tmp_path, "protobuf")) == []


def recorded(path):
    """Import a tape; return its sessions."""
    project = Project.objects.create(slug="default")
    with suppress(CommandError):
        call_command("import_runs", str(TAPES / path), stdout=StringIO(), stderr=StringIO())
    return list(Session.objects.filter(project=project).order_by("pk"))


def spans(session):
    """Return the exported spans by name, with their attributes as an object."""
    (resource,) = json.loads(b"".join(otlp_request(session)))["resourceSpans"]
    found = resource["scopeSpans"][0]["spans"]
    for span in found:
        span["attributes"] = mapping(span["attributes"])
    return found


def test_exporting_twice_gives_the_same_bytes_and_both_encodings_the_same_lines():
    (session,) = recorded("phi-core/01-tools-two-prompts.events.jsonl")

    text, message = (b"".join(otlp_request(session, each)) for each in ("json", "protobuf"))

    assert text == b"".join(otlp_request(session, "json"))
    of_json = lines_of("traces", text, is_json=True)
    of_protobuf = lines_of("traces", message, is_json=False)
    assert of_json.have_ids
    assert of_protobuf.have_ids
    assert [each["spanId"] for each in map(_span, of_json.lines)] == [
        each["spanId"] for each in map(_span, of_protobuf.lines)
    ]


def _span(line):
    return json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]


def test_a_sub_agent_is_below_the_tool_call_that_started_it():
    session = next(each for each in recorded("claude-code") if each.sub_agents)

    found = spans(session)

    by_id = {span["spanId"]: span for span in found}
    agents = [span for span in found if span["attributes"].get("gen_ai.operation.name") == "invoke_agent"]
    below = [by_id[span["parentSpanId"]] for span in agents if "parentSpanId" in span]
    assert len(below) == session.sub_agents
    assert {span["attributes"]["gen_ai.operation.name"] for span in below} == {"execute_tool"}
    assert all(above["traceId"] == span["traceId"] for span in agents if "parentSpanId" in span
               for above in [by_id[span["parentSpanId"]]])  # fmt: skip


def test_texts_follow_the_conventions():
    (session,) = recorded("phi-core/01-tools-two-prompts.events.jsonl")

    calls = [span for span in spans(session) if span["name"].startswith("chat")]
    first = calls[0]["attributes"]

    prompt = json.loads(first["gen_ai.input.messages"])[0]
    assert prompt["role"] == "user"
    assert prompt["parts"][0]["type"] == "text"
    answers = [json.loads(each["attributes"]["gen_ai.output.messages"])[0] for each in calls
               if "gen_ai.output.messages" in each["attributes"]]  # fmt: skip
    assert {each["role"] for each in answers} == {"assistant"}
    kinds = {part["type"] for each in answers for part in each["parts"]}
    assert {"text", "tool_call"} <= kinds <= {"text", "tool_call", "reasoning"}


@pytest.mark.parametrize("encoding", ["json", "protobuf"])
def test_the_command_writes_it(encoding):
    (session,) = recorded("phi-core/01-tools-two-prompts.events.jsonl")
    out = TextIOWrapper(BytesIO(), "utf-8")

    call_command("export_session", session.session_id, "--as=otlp", f"--encoding={encoding}", stdout=out)

    out.flush()
    assert out.buffer.getvalue() == b"".join(otlp_request(session, encoding))


@pytest.mark.parametrize("shape", ["phi-session", "events", "html"])
def test_an_encoding_is_refused_where_the_shape_has_one(shape):
    (session,) = recorded("phi-core/01-tools-two-prompts.events.jsonl")

    with pytest.raises(CommandError, match="--encoding is for --as otlp"):
        call_command("export_session", session.session_id, f"--as={shape}", "--encoding=protobuf")


def test_titles_tags_metadata_and_compactions_are_read_from_an_export_again(tmp_path):
    at = "2026-11-22T10:00:{:02}.000000Z".format
    # fmt: off
    usage = {"input": 10, "output": 2, "reasoning": 0, "cache_read": 0, "cache_write": 0, "total_tokens": 12}
    answer = {"role": "assistant", "content": [{"type": "text", "text": "Done."}], "model": "m",
              "provider": "p", "stopReason": "stop", "timestamp": 1, "usage": usage}
    ended = {"type": "CompactionEnded", "messages_before": 9, "messages_after": 3, "summary": "So far.",
             "estimated_tokens_before": 9000, "estimated_tokens_after": 700, "loops_compacted": None}
    lines = [
        {"type": "AgentStart", "agent_id": "helper", "session_id": "s", "title": "Title of the loop",
         "config_snapshot": {"model": "m", "provider": "p"}, "metadata": {"branch": "main", "tags": "old"}},
        {"type": "SessionInfo", "session_id": "s", "title": "Stated title", "tags": ["alpha", "x, y"]},
        {"type": "CompactionStarted", "estimated_tokens": 9000, "message_count": 9},
        ended,
        {"type": "TurnStart", "turn_index": 0, "triggered_by": "User"},
        {"type": "TurnEnd", "message": answer, "usage": usage, "tool_results": []},
        {**ended, "messages_before": None, "summary": None},
        {"type": "CompactionStarted", "estimated_tokens": 50, "message_count": None},
        {"type": "AgentEnd", "messages": [], "usage": usage},
    ]
    # fmt: on
    file = tmp_path / "own.events.jsonl"
    texts = (json.dumps({"loop_id": "s.1", "timestamp": at(n), **line}) for n, line in enumerate(lines))
    file.write_text("\n".join(texts) + "\n")
    Project.objects.create(slug="default")
    call_command("import_runs", str(file), stdout=StringIO(), stderr=StringIO())

    assert list(round_trip(tmp_path, "json")) == []

    first, again = (list(session.loop_records.all()) for session in Session.objects.order_by("pk"))
    assert [(loop.title, loop.metadata) for loop in again] == [(loop.title, loop.metadata) for loop in first]
    first, again = ([compactions(loop) for loop in loops] for loops in (first, again))
    assert again == first
    assert [state for state, *_ in first[0]] == ["done", "done", "cut"]


def compactions(loop):
    names = ("state", "messages_before", "messages_after", "tokens_before", "tokens_after", "summary")
    return list(loop.compaction_records.order_by("pk").values_list(*names, "started_at", "ended_at"))
