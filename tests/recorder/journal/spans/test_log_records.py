"""Coding agents that export log records and no traces: their calls, tools, sub-agents and failed requests."""

import json
import random
from datetime import UTC, datetime, timedelta

import pytest

from recorder.models import EventRecord, LoopRecord, Project, ToolCall, Turn
from recorder.operations.span_silence import mark_silent
from recorder.projection.rebuild import rebuild
from tests.recorder.journal.spans import captures

pytestmark = pytest.mark.django_db(transaction=True)
CAPTURES = [capture for capture in captures.CAPTURES if capture.startswith("coding_agents/")]
UNSEEN = {
    "write": {"tool_calls"},
    "write-pb": {"tool_calls"},
}  # Claude Code reports no result of its own tools
PARALLEL = "coding_agents/codex-otlp/parallel"
PLAIN = "coding_agents/claude-code-otlp/plain"


def logs(capture, *, with_ids):
    """Return the log records of a capture, with or without the ids that they have beside traces."""
    found = []
    for line in (line for batch in captures.lines(capture) for line in batch):
        fields = json.loads(line)
        if "resourceLogs" not in fields:
            continue
        record = fields["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]
        if not with_ids:
            record.pop("traceId", None)
            record.pop("spanId", None)
        found.append(json.dumps(fields).encode())
    return found


def changed(line, name, **attributes):
    """Return a copy of a log record as another event, `at` seconds later, with other attributes."""
    fields = json.loads(line)
    record = fields["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]
    seconds = attributes.pop("at", 0)
    for key in ("timeUnixNano", "observedTimeUnixNano"):
        if at := int(record.get(key) or 0):
            record[key] = str(at + int(seconds * 10**9))
    known = {each["key"]: each["value"] for each in record["attributes"]}
    known["event.name"] = {"stringValue": name}
    known |= {key: {"stringValue": value} for key, value in attributes.items()}
    record["attributes"] = [{"key": key, "value": value} for key, value in known.items()]
    return json.dumps(fields).encode()


def named(lines, name):
    return [line for line in lines if json.dumps(name)[1:-1].encode() in line]


@pytest.fixture
def project():
    return Project.objects.create(slug="p")


@pytest.mark.parametrize("with_ids", [True, False])
@pytest.mark.parametrize("capture", CAPTURES)
def test_log_records_alone_give_the_records_of_the_script(project, capture, with_ids):
    captures.record(project, logs(capture, with_ids=with_ids))
    _, emitter, scenario = capture.split("/")
    unseen = UNSEEN.get(scenario, set()) if emitter.startswith("claude") else set()
    wanted, found = captures.expected(capture), captures.totals(project)
    names = wanted["totals"].keys() - unseen
    assert {name: found[name] for name in names} == {name: wanted["totals"][name] for name in names}
    tools = ToolCall.objects.filter(loop__session__project=project)
    assert all(tool.summary for tool in tools)
    agents = [loop.agent_id for loop in LoopRecord.objects.order_by("started_at")]
    assert agents[0] == emitter.removesuffix("-otlp")
    for child in LoopRecord.objects.filter(role="sub_agent"):
        assert child.spawned_by.get().tool_name in ("Agent", "invoke_agent")
        assert child.outcome == "completed"


@pytest.mark.parametrize("capture", CAPTURES)
def test_the_order_of_log_records_changes_nothing(project, capture):
    lines = logs(capture, with_ids=False)
    captures.record(project, lines)
    wanted = captures.shape(project)
    shuffled = random.Random(3).sample(lines, len(lines))
    other = Project.objects.create(slug="other")
    for line in shuffled:
        captures.record(other, [line])
    assert [*captures.differences(captures.shape(other), wanted)] == []
    rebuild(other)
    assert [*captures.differences(captures.shape(other), wanted)] == []


@pytest.mark.parametrize(
    "capture", ["coding_agents/claude-code-otlp/task", "coding_agents/gemini-cli-otlp/two"]
)
def test_answers_have_their_texts(project, capture):
    captures.record(project, logs(capture, with_ids=False))
    wanted = [turn for loop in captures.expected(capture)["loops"] or [] for turn in loop["turns"]]
    found = Turn.objects.order_by("started_at")
    assert sorted(turn.answer for turn in found if turn.answer) == sorted(
        turn["text"].strip() for turn in wanted if turn["text"]
    )


def test_a_loop_ends_with_the_next_prompt_or_after_silence(project, settings):
    lines = logs(PLAIN, with_ids=False)
    captures.record(project, lines)
    assert LoopRecord.objects.get().status == "running"
    (prompt,) = named(lines, "user_prompt")
    captures.record(project, [changed(prompt, "user_prompt", at=60, **{"prompt.id": "next"})])
    assert LoopRecord.objects.get().outcome == "completed"

    other = Project.objects.create(slug="other")
    captures.record(other, lines)
    mark_silent(datetime.now(UTC) + timedelta(seconds=settings.LOOPSCOPE_SPAN_SILENCE_S + 60))
    assert LoopRecord.objects.get(session__project=other).outcome == "completed"


def attempts(project):
    found = EventRecord.objects.filter(session__project=project, type="ErrorRaised")
    return found.count()


def test_failed_requests_that_were_tried_again_are_attempts_of_the_turn(project):
    lines = logs(PARALLEL, with_ids=True)
    first = next(line for line in lines if b"codex.api_request" in line)
    failed = changed(first, "codex.api_request", at=-1, **{"http.response.status_code": "429"})
    captures.record(project, [*lines, failed])
    assert captures.totals(project)["turns"] == 2
    assert captures.totals(project)["turn_errors"] == 0
    assert attempts(project) == 1


@pytest.mark.parametrize("with_spans", [True, False])
def test_a_run_whose_requests_all_fail_has_failed(project, with_spans):
    lines = [line for batch in captures.lines(PARALLEL) for line in batch]
    first = next(line for line in lines if b"codex.api_request" in line)
    without_calls = [
        line
        for line in lines
        if b"token" not in line
        and b"codex.api_request" not in line
        and (with_spans or b"resourceLogs" in line)
        and b"tool" not in line
    ]
    failed = [
        changed(first, "codex.api_request", at=at, **{"http.response.status_code": "400"}) for at in (0, 1)
    ]
    captures.record(project, [*without_calls, *failed])
    loop = LoopRecord.objects.get()
    assert (loop.turns, loop.outcome, loop.error[:3]) == (1, "" if not with_spans else loop.outcome, "400")
    assert captures.totals(project)["turn_errors"] == 1
    assert attempts(project) == 1
    mark_silent(datetime.now(UTC) + timedelta(days=1))
    assert LoopRecord.objects.get().outcome == "failed"


def test_an_error_of_claude_code_is_an_attempt_or_the_end(project):
    lines = logs(PLAIN, with_ids=False)
    (call,) = named(lines, "api_request")
    error = changed(call, "api_error", at=-1, error="Overloaded", status_code="529", attempt="1")
    captures.record(project, [*lines, error])
    assert (captures.totals(project)["turns"], attempts(project)) == (1, 1)

    other = Project.objects.create(slug="other")
    captures.record(
        other, [line for line in lines if line not in (call, *named(lines, "assistant_response"))]
    )
    captures.record(other, [error])
    turn = Turn.objects.get(loop__session__project=other)
    assert turn.error == "529 Overloaded"


def test_a_span_that_was_sent_three_times_has_two_attempts(project):
    lines = [line for batch in captures.lines(PLAIN) for line in batch]
    attempt = b'"name":"gen_ai.request.attempt"'
    (call,) = [line for line in lines if attempt in line.replace(b" ", b"")]
    fields = json.loads(call)
    span = fields["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    span["events"] *= 3
    captures.record(project, [json.dumps(fields).encode() if line is call else line for line in lines])
    assert (captures.totals(project)["turns"], attempts(project)) == (1, 2)
