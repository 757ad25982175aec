"""cagent's stream through ingest: its records, wherever it is cut, sent twice or rebuilt."""

import json
from io import StringIO

import pytest
from django.core.management import call_command
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recorder.core.formats.cagent import TRANSLATORS
from recorder.database import row_mapper
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.journal.read import texts
from recorder.models import (
    Anomaly,
    Approval,
    ChildLoopRef,
    Compaction,
    EventRecord,
    JournalEvent,
    LoopRecord,
    Producer,
    Project,
    Session,
    ToolCall,
    Turn,
)
from recorder.operations.integrity_check import findings
from tests.support.foreign_tapes import send, tape
from tests.support.project_digest import digest, records

pytestmark = pytest.mark.django_db(transaction=True)

ALL = "cagent/all-event-types.hand-made.events.jsonl"
CUT = "cagent/exec-json-cut-by-error.hand-made.events.jsonl"
TASK = "cagent/transfer-task.reconstructed.events.jsonl"
TURNS = "cagent/two-turns.reconstructed.events.jsonl"
TAPES = (ALL, CUT, TASK, TURNS)
KINDS = {kind.__name__ for kind in row_mapper.MODELS}


def play(project, path, **how):
    send(project, tape(path), "cagent", **how)


def line(kind, **fields):
    return json.dumps({"type": kind, "timestamp": "2026-03-14T09:00:00Z", **fields}).encode()


def call(kind, call_id, **fields):
    return line(kind, tool_call={"id": call_id, "function": {"name": "shell", "arguments": "{}"}}, **fields)


def started(session="s", **fields):
    return line("stream_started", session_id=session, agent_name="root", **fields)


def used(session="s", cost=0.5, **last):
    message = {"input_tokens": 3, "output_tokens": 2, "Cost": cost, "Model": "m", **last}
    return line("token_usage", session_id=session, usage={"context_length": 9, "last_message": message})


def anomalies():
    return sorted(Anomaly.objects.values_list("kind", flat=True))


def test_a_stream_is_a_loop_and_its_iterations_are_turns(project):
    play(project, TURNS)
    (loop,) = LoopRecord.objects.all()
    assert (loop.session.source, loop.session.title) == ("cagent", "README.md file review request")
    assert (loop.status, loop.outcome, loop.title) == ("completed", "completed", "Read my README.md")
    assert loop.config.model == "claude-haiku-4-5"
    turns = Turn.objects.order_by("ordinal").values_list(
        "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "model", "tool_calls"
    )
    model = "claude-sonnet-4-20250514"
    assert list(turns) == [(5, 67, 12982, 142, model, 1), (8, 445, 13124, 5191, model, 0)]
    assert (loop.input_tokens, loop.output_tokens, loop.context_tokens) == (13, 512, 18323)
    assert not Anomaly.objects.exists()


def test_every_type_of_event_is_understood(project):
    play(project, ALL)
    session = Session.objects.get()
    assert (session.title, session.outcome, session.waiting) == ("Clean build directory", "failed", 0)
    approvals = Approval.objects.order_by("id").values_list("kind", "command", "decision", "inferred")
    assert list(approvals) == [
        ("tool", "ls build", "granted", True),
        ("tool", "rm -rf build", "denied", True),
        ("elicitation", "Sign in to Jira", "granted", True),
        ("limit", "Go on after 6 iterations?", "denied", True),
    ]
    tools = ToolCall.objects.order_by("id").values_list("tool_call_id", "state", "summary")
    assert list(tools) == [("c1", "done", "ls build"), ("c2", "failed", ""), ("c3", "failed", "")]
    assert (session.tool_calls, session.errors) == (1, 1)  # the last turn
    (compaction,) = Compaction.objects.all()
    assert compaction.summary == "User wants build cleaned but keep b.o; rm was rejected."
    assert (compaction.tokens_before, compaction.tokens_after) == (1770, 210)
    assert (compaction.messages_before, compaction.messages_after) == (None, None)
    kinds = {json.loads(raw)["kind"] for raw in notices()}
    assert kinds == {"warning", "mcp", "rag", "hook_blocked", "model_fallback", "shell"}
    assert not Anomaly.objects.exists()


def notices():
    return texts(EventRecord.objects.filter(type="Notice").values_list("pk", flat=True)).values()


def test_no_type_of_the_runtime_is_unknown_and_all_but_two_are_on_the_tapes():
    translated = {json.loads(each)["type"] for path in TAPES for each in tape(path)}
    assert translated <= set(TRANSLATORS)
    assert len(TRANSLATORS) == 32
    assert set(TRANSLATORS) - translated == set()


def test_a_nested_stream_is_a_session_of_its_own_tied_to_the_call_that_ran_it(project):
    play(project, TASK)
    parent, child = Session.objects.order_by("pk")
    ref = ChildLoopRef.objects.get()
    assert (ref.tool_name, ref.certainty, ref.child.session_id) == ("transfer_task", "structural", child.pk)
    assert child.parent.session_id == parent.pk
    assert child.title == "Transferred task"
    assert (parent.turns, parent.tool_calls, child.turns, child.tool_calls) == (6, 5, 14, 13)
    assert LoopRecord.objects.get(session=child).role == "sub_agent"
    assert not Anomaly.objects.exists()


def test_a_stream_that_breaks_off_is_aborted_and_keeps_what_it_used(project):
    play(project, CUT, flush=True)
    loop = LoopRecord.objects.get()
    assert (loop.status, loop.outcome, loop.turns, loop.input_tokens) == ("aborted", "aborted", 1, 476)


def test_the_next_stream_of_a_session_continues_it_from_any_producer(project):
    for producer in ("first", "second"):
        play(project, TURNS, producer=producer)
    first, second = LoopRecord.objects.order_by("pk")
    assert (second.parent, second.continuation_kind) == (first, "Default")
    assert (first.loop_id[-2:], second.loop_id[-2:]) == (".1", ".2")


def test_a_session_that_starts_again_before_it_stopped_was_cut(project):
    send(project, [started(), started(), line("stream_stopped", session_id="s")], "cagent")
    assert list(LoopRecord.objects.order_by("run").values_list("run", "status")) == [
        (1, "aborted"),
        (2, "completed"),
    ]
    assert anomalies() == ["duplicate_start"]


@pytest.mark.parametrize("path", TAPES)
def test_lines_are_restored_byte_for_byte_and_belong_to_their_session(project, path):
    play(project, path, flush=True)
    stored = texts(JournalEvent.objects.filter(kind="line").values_list("pk", flat=True))
    assert list(stored.values()) == tape(path)
    assert not EventRecord.objects.filter(session=None).exists()
    assert sum(Session.objects.values_list("events", flat=True)) == len(tape(path))
    assert list(findings()) == []


@pytest.mark.parametrize("path", TAPES)
def test_a_stream_sent_twice_or_rebuilt_is_recorded_once(project, path):
    play(project, path, flush=True)
    once, keys = digest(project.pk), set(JournalEvent.objects.values_list("pk", flat=True))
    state = Producer.objects.get().reading
    play(project, path)
    assert digest(project.pk) == once
    call_command("rebuild", stdout=StringIO(), stderr=StringIO())
    assert digest(project.pk) == once
    assert set(JournalEvent.objects.values_list("pk", flat=True)) == keys
    assert Producer.objects.get().reading == state


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.sampled_from(TAPES), cuts=st.sets(st.integers(1, 200), max_size=12))
def test_wherever_a_stream_is_cut_the_records_are_the_same(project, path, cuts):
    whole, pieces = (Project.objects.create(slug=f"{name}-{Project.objects.count()}") for name in "ab")
    cuts = [cut for cut in cuts if cut < len(tape(path))]
    play(whole, path)
    play(pieces, path, cuts=cuts)
    # When it was received is not what it says, and each batch has its own moment.
    assert translated(pieces) == translated(whole)


def translated(project):
    return [words for words in map(without_clock, records(project.pk)) if words]


def without_clock(words):
    kind, _, values = words.partition(" ")
    if kind not in KINDS:  # spending says it by the hour
        return words
    event_fields = json.loads(values)
    clock = ("last_event_at", "last_received_at", "last_active_at", "created_at", "at")
    clock += ("resolved_at", "requested_at")
    return f"{kind} " + json.dumps({name: value for name, value in event_fields.items() if name not in clock})


def test_lines_may_come_as_server_sent_events(project):
    framed = [b"event: message", *(b"data: " + each for each in tape(TURNS)), b": ping"]
    send(project, framed, "cagent")
    assert LoopRecord.objects.get().turns == 2
    assert JournalEvent.objects.filter(kind="line").count() == len(framed)


@pytest.mark.parametrize(
    ("broken", "code", "path"),
    [
        (b"{}", "bad_type", "type"),
        (line("stream_started"), "missing_field", "session_id"),
        (line("stream_started", session_id="s" * 510), "bad_id", "session_id"),
        (line("tool_call"), "missing_field", "tool_call"),
        (line("tool_call", tool_call={"id": 7}), "wrong_type", "id"),
        (b'{"type":', "bad_json", ""),
    ],
)
def test_a_line_that_cannot_be_understood_is_refused_alone(project, broken, code, path):
    receipt = ingest(Batch(project.pk, "p", 0, [started(), broken, used()], "cagent"))
    assert [(each.seq, each.code, each.path) for each in receipt.rejected] == [(1, code, path)]
    assert (receipt.accepted, LoopRecord.objects.count()) == (2, 1)


def test_violations_of_the_specification_are_reported_and_recorded(project):
    event_fields = line("agent_choice", session_id="s", content="hi", agent_name="root")
    stray = call("tool_call_response", "t9", response="x", agent_name="root")
    foreign = line("agent_choice", session_id="other", content="hm", agent_name="root")
    send(project, [event_fields, used(), stray, foreign], "cagent")
    assert anomalies() == ["foreign_session", "no_stream_started", "response_without_call"]
    send(project, [started("t"), used("t")], "cagent", producer="q")
    assert "usage_first" in anomalies()


def test_lines_after_the_end_of_a_stream_are_reported_and_recorded(project):
    ended = line("stream_stopped", session_id="s", agent_name="root")
    late = line("agent_choice", session_id="s", content="and", agent_name="root")
    send(project, [started(), used(), ended, late], "cagent")
    assert "no_stream_started" in anomalies()
    assert list(LoopRecord.objects.order_by("pk").values_list("status", flat=True)) == [
        "completed",
        "running",
    ]


def test_an_agent_missing_from_its_team_is_reported_once_and_recorded(project):
    team = line("team_info", available_agents=[{"name": "root"}, {"name": "coder"}], current_agent="root")
    event_fields = [
        line("agent_choice", session_id="s", content="hi", agent_name=agent)
        for agent in ("root", "coder", "stranger", "stranger")
    ]
    send(project, [team, started(), *event_fields], "cagent")
    assert anomalies() == ["unknown_agent"]
    assert LoopRecord.objects.get().agent_label == "stranger"


def test_agents_that_switch_change_within_the_loop(project):
    switch = line("agent_switching", switching=True, from_agent="root", to_agent="coder", agent_name="root")
    event_fields = line("agent_choice", session_id="s", content="hi", agent_name="coder")
    send(project, [started(), switch, event_fields], "cagent")
    assert LoopRecord.objects.get().agent_label == "coder"
    (switched,) = texts(
        EventRecord.objects.filter(type="AgentSwitched").values_list("pk", flat=True)
    ).values()
    assert (json.loads(switched)["from"], json.loads(switched)["to"]) == ("root", "coder")
    assert not Anomaly.objects.exists()


def test_a_vendors_event_is_stored_and_shown_as_unknown(project):
    vendor = line("acme.metric", vendor_name="acme", value=7)
    send(project, [started(), vendor], "cagent")
    record = EventRecord.objects.get(type="acme.metric")
    assert (record.origin, texts([record.pk])[record.pk]) == ("", vendor)
    assert anomalies() == ["unknown_type"]


def test_a_handoff_changes_the_agent_within_the_loop(project):
    other = line("agent_choice", session_id="s", content="hi", agent_name="coder")
    info = line("agent_info", agent_name="coder", model="openai/gpt-5")
    send(project, [started(), info, other], "cagent")
    assert LoopRecord.objects.get().agent_label == "coder"


def test_a_question_waits_until_the_agent_goes_on(project):
    asks = line("elicitation_request", message="Which?", elicitation_id="e1", agent_name="root")
    send(project, [started(), asks], "cagent")
    assert Session.objects.get().waiting == 1
    ingested = [started(), asks, line("agent_choice", session_id="s", content="ok", agent_name="root")]
    send(project, ingested, "cagent")
    assert (Session.objects.get().waiting, Approval.objects.get().decision) == (0, "")


def test_a_compaction_without_a_stream_is_a_pass_of_its_own(project):
    lines = [
        line("session_compaction", session_id="s", status="started", agent_name="root"),
        line("session_summary", session_id="s", summary="short", agent_name="root"),
        line("session_compaction", session_id="s", status="completed", agent_name="root"),
    ]
    send(project, lines, "cagent")
    loop = LoopRecord.objects.get()
    assert (loop.role, loop.status, loop.turns) == ("compaction", "completed", 0)
    assert Compaction.objects.get().summary == "short"
