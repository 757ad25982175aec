"""Summaries of spans, of log records and of what the recorder derives from them."""

import json

from dashboard.pages.session.events.summaries import summary
from tests.recorder.journal.spans import captures


def summaries(capture):
    return [summary("", json.loads(line)) for lines in captures.lines(capture) for line in lines]


def test_spans_say_what_was_asked_and_answered():
    found = summaries("frameworks/pydantic-ai/06-sub-agent")

    assert "gpt-stub-1, 40 output tokens, calls ask_specialist, I ask the specialist." in found
    assert "Oslo, city: Oslo, temp_c: 21, sky: sunny" in found
    assert all(found)
    assert not [each for each in found if "telemetry.sdk" in each or "resource" in each]


def test_log_records_say_what_they_are_about():
    found = summaries("coding_agents/claude-code-otlp/write")

    assert [each for each in found if "Write hello.txt with a greeting" in each]
    assert [each for each in found if each.startswith("failed: Shell command failed")]
    assert not [each for each in found if "deployment.environment" in each]


def test_a_line_that_is_no_span_says_why():
    assert summary("", {"resourceSpans": []}) == "a line holds one span or one log record in OTLP/JSON"


def test_events_that_spans_give_are_said_in_words():
    assert summary("LoopWithdrawn", {"is_gone": False}) == "recorded again: later spans changed it"
    assert summary("LoopReopened", {"turn_index": 2}) == "goes on with turn 2"
    linked = {"tool_name": "ask", "child_loop_id": "s.b.1"}
    assert summary("SubAgentLinked", linked) == "sub-agent s.b.1 through ask"
    assert summary("AgentSwitched", {"from": "a", "to": "b"}) == "a → b"
    assert summary("ApprovalRequested", {"command": "rm -r x", "risk": "high"}) == "rm -r x, high"
    assert summary("ApprovalResolved", {"decision": "denied", "reason": "No."}) == "denied, No."
