"""Approvals that Claude Code and Codex report: decision, source and time waited."""

import json
import random

import pytest

from recorder.models import Approval, LoopRecord, Project, ToolCall
from recorder.projection.rebuild import rebuild
from tests.recorder.journal.spans import captures

pytestmark = pytest.mark.django_db(transaction=True)
CLAUDE, CODEX = "coding_agents/claude-code-otlp/parallel", "coding_agents/codex-otlp/parallel"


def decided(capture, decision, source, *, signals=("Spans", "Logs")):
    """Return the lines of a capture whose first call was decided like this, as these signals say."""
    found, waiting = [], set(signals)
    for line in [line for batch in captures.lines(capture) for line in batch]:
        fields = json.loads(line)
        signal = "Logs" if "resourceLogs" in fields else "Spans"
        (record,) = fields[f"resource{signal}"][0][f"scope{signal}"][0][
            "logRecords" if signal == "Logs" else "spans"
        ]
        attributes = {each["key"]: each["value"] for each in record.get("attributes", [])}
        names = [attributes.get(name, {}).get("stringValue", "") for name in ("span.type", "event.name")]
        if signal in waiting and any(name.endswith(("blocked_on_user", "tool_decision")) for name in names):
            waiting.remove(signal)
            attributes["decision"]["stringValue"] = decision
            attributes["source"]["stringValue"] = source
            line = json.dumps(fields).encode()  # noqa: PLW2901  another one is sent
        found.append(line)
    return found


def record(lines):
    project = Project.objects.create(slug=f"p{Project.objects.count()}")
    captures.record(project, lines)
    return project


def approvals(project):
    found = Approval.objects.filter(session__project=project)
    names = ("decision", "reason", "decision_scope", "kind", "command", "inferred")
    return sorted(found.values_list(*names), key=repr)


@pytest.mark.parametrize("capture", [CLAUDE, CODEX])
def test_a_call_that_its_settings_allow_has_no_approval(capture):
    project = record([line for batch in captures.lines(capture) for line in batch])

    assert approvals(project) == []


@pytest.mark.parametrize(
    ("decision", "source", "found"),
    [
        ("accept", "user_temporary", ("granted", "user_temporary", "", "tool", "echo one", False)),
        ("accept", "user_permanent", ("granted", "user_permanent", "always", "tool", "echo one", False)),
        ("accept", "hook", ("granted", "hook", "", "tool", "echo one", False)),
        ("reject", "user_reject", ("denied", "user_reject", "", "tool", "echo one", False)),
        ("reject", "config", ("denied", "config", "", "tool", "echo one", False)),
        ("reject", "unknown", ("denied", "", "", "tool", "echo one", False)),
    ],
)
def test_a_decision_of_claude_code_is_an_approval(decision, source, found):
    assert approvals(record(decided(CLAUDE, decision, source))) == [found]


@pytest.mark.parametrize(
    ("decision", "source"), [("accept", "unknown"), ("maybe", "user"), ("unknown", "user")]
)
def test_what_says_no_decision_is_no_approval(decision, source):
    assert approvals(record(decided(CLAUDE, decision, source))) == []


@pytest.mark.parametrize(
    ("decision", "found"),
    [
        ("approved", ("granted", "User", "")),
        ("approved_for_session", ("granted", "User", "session")),
        ("denied", ("denied", "User", "")),
        ("abort", ("cancelled", "User", "")),
    ],
)
def test_a_decision_of_codex_is_an_approval(decision, found):
    assert [each[:3] for each in approvals(record(decided(CODEX, decision, "User")))] == [found]


def test_the_span_of_the_wait_says_how_long_it_was():
    project = record(decided(CLAUDE, "accept", "user_temporary", signals=["Spans"]))

    approval = Approval.objects.get(session__project=project)
    assert 0.1 < (approval.resolved_at - approval.requested_at).total_seconds() < 0.2
    assert LoopRecord.objects.filter(session__project=project, waiting__gt=0).count() == 0


def test_a_refused_call_did_not_run_and_did_not_fail():
    project = record(decided(CLAUDE, "reject", "user_reject"))

    calls = ToolCall.objects.filter(loop__session__project=project).order_by("start_event")
    assert [(call.state, call.start_event is None) for call in calls].count(("done", True)) == 1


@pytest.mark.parametrize(("capture", "decision"), [(CLAUDE, "reject"), (CODEX, "approved")])
def test_approvals_do_not_depend_on_the_order_of_arrival(capture, decision):
    lines = decided(capture, decision, "user")
    whole = record(lines)
    wanted, shape = approvals(whole), captures.shape(whole)
    random.Random(1).shuffle(lines)
    single = record(lines[:1])
    for line in lines[1:]:
        captures.record(single, [line])

    assert approvals(single) == wanted != []
    assert [*captures.differences(captures.shape(single), shape)] == []
    rebuild(single)
    assert approvals(single) == wanted
