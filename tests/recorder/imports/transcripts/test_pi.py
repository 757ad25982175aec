"""Transcripts of pi that end, fail and are compacted; `tests/tapes/pi` has one with branches."""

import pytest

from recorder.models import Compaction, LoopRecord
from tests.recorder.imports.transcripts.conftest import begin, send

pytestmark = pytest.mark.django_db(transaction=True)

SESSION = {
    "type": "session",
    "version": 3,
    "id": "s1",
    "timestamp": "2026-11-22T10:00:00.000Z",
    "cwd": "/work",
}
USAGE = {"input": 120, "output": 15, "cacheRead": 80, "cacheWrite": 0, "cost": {"total": 0.25}}


def entry(number, kind, **fields):
    about = {
        "id": f"m{number}",
        "parentId": f"m{number - 1}",
        "timestamp": f"2026-11-22T10:00:0{number}.000Z",
    }
    return {"type": kind, **about, **fields}


def message(number, role, text, **fields):
    content = [{"type": "text", "text": text}] if text else []
    call = fields.pop("call", None)
    if call:
        content.append({"type": "toolCall", "id": call, "name": "bash", "arguments": {"command": "ls"}})
    return entry(number, "message", message={"role": role, "content": content, **fields})


def answer(number, text, stop="stop", **fields):
    about = {"model": "claude-stub-1", "provider": "stub", "stopReason": stop, "usage": USAGE}
    return message(number, "assistant", text, **about | fields)


def test_a_loop_ends_with_the_answer_that_asks_for_no_tool(project, record):
    started = [SESSION, message(1, "user", "List."), answer(2, "", "toolUse", call="c1")]
    result = message(3, "toolResult", "a.txt", toolCallId="c1", toolName="bash")
    begin(project, "pi", [*started, result])
    assert LoopRecord.objects.get().status == "running"

    (loop,) = record("pi", [*started, result, answer(4, "There is a.txt.")])
    assert (loop.status, loop.outcome, loop.turns, loop.tool_calls) == ("completed", "completed", 2, 1)
    assert (loop.input_tokens, loop.output_tokens, loop.cache_read_tokens) == (240, 30, 160)


def test_a_failed_answer_is_tried_again_in_its_loop(project, record):
    failed = answer(2, "", "error", errorMessage="overloaded")
    begin(project, "pi", [SESSION, message(1, "user", "Hello."), failed])
    assert LoopRecord.objects.get().status == "running"

    (loop,) = record("pi", [SESSION, message(1, "user", "Hello."), failed, answer(3, "Hello.")])
    assert (loop.status, loop.outcome, loop.turns) == ("completed", "completed", 2)


def test_a_compaction_after_the_answer_belongs_to_its_loop(project):
    compaction = entry(3, "compaction", summary="Greeted.", tokensBefore=200)
    send(project, "pi", "p", [[SESSION, message(1, "user", "Hello."), answer(2, "Hello."), compaction]])
    found = Compaction.objects.get()
    assert (found.summary, found.tokens_before, found.loop.loop_id) == ("Greeted.", 200, "s1.m1")
    assert (found.loop.status, found.loop.outcome, found.loop.turns) == ("completed", "completed", 1)


@pytest.mark.parametrize("call", [None, "c1"])
def test_an_answer_that_was_stopped_ends_its_loop_at_once(project, record, call):
    stopped = answer(2, "Part", "aborted", errorMessage="Aborted", call=call)
    lines = [SESSION, message(1, "user", "Go."), stopped]
    begin(project, "pi", lines)
    live = LoopRecord.objects.get()

    (loop,) = record("pi", lines)
    for each in (live, loop):
        assert (each.status, each.outcome, each.turns, each.errors) == ("completed", "cancelled", 1, 0)


def test_a_prompt_of_pi_that_is_only_an_image_is_named(record):
    image = {"type": "image", "data": "A", "mimeType": "image/png"}
    lines = [SESSION, message(1, "user", ""), answer(2, "A cat", "stop")]
    lines[1]["message"]["content"] = [image]

    (loop,) = record("pi", lines)

    assert (loop.title, loop.turns, loop.outcome) == ("[image]", 1, "completed")


def below(line, parent):
    return line | {"parentId": parent}


DEFAULT = ("Default", None, "s1.m3")
LEFT = {"fromId": "m4", "summary": "Tried."}
TWO = [SESSION, below(message(1, "user", "A"), None), answer(2, "a"), message(3, "user", "B"), answer(4, "b")]


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ([below(message(5, "user", "C"), "m2")], ("Branch", "m2", "s1.m1")),
        ([below(message(5, "user", "C"), None)], ("Branch", "root", None)),
        (
            [below(entry(5, "branch_summary", **LEFT), "m2"), message(6, "user", "C")],
            ("Branch", "m2", "s1.m1"),
        ),
        (
            [below(entry(5, "branch_summary", **LEFT), None), message(6, "user", "C")],
            ("Branch", "root", None),
        ),
        (
            [below(entry(5, "model_change"), "m2"), entry(6, "label"), message(7, "user", "C")],
            ("Branch", "m2", "s1.m1"),
        ),
        ([entry(5, "label"), entry(6, "branch_summary", **LEFT), message(7, "user", "C")], DEFAULT),
        ([message(5, "user", "C")], DEFAULT),
    ],
)
def test_a_prompt_that_does_not_follow_the_last_message_is_a_branch(record, lines, found):
    *_, loop = record("pi", [*TWO, *lines])
    assert loop.title == "C"
    parent = loop.parent and loop.parent.loop_id
    assert (loop.continuation_kind, loop.continuation_tag, parent) == found


def test_a_prompt_that_goes_back_to_the_settings_before_the_first_one_is_a_branch(record):
    settings = below(entry(0, "thinking_level_change"), None)
    lines = [SESSION, settings, message(1, "user", "A"), answer(2, "a"), below(message(3, "user", "B"), "m0")]
    first, second = record("pi", [*lines, answer(4, "b")])
    assert (first.continuation_kind, second.continuation_kind) == ("Initial", "Branch")


def test_thinking_tokens_of_pi_are_a_part_of_the_output(record):
    (loop,) = record(
        "pi", [SESSION, message(1, "user", "Go"), answer(2, "a", usage=USAGE | {"reasoning": 9})]
    )
    assert (loop.output_tokens, loop.reasoning_tokens) == (15, 9)


def test_the_model_of_a_turn_of_pi_is_the_one_that_answered(record):
    routed = answer(2, "a", model="openrouter/auto", responseModel="anthropic/claude-sonnet-4.5")
    (loop,) = record("pi", [SESSION, message(1, "user", "Go"), routed])
    assert loop.turn_records.get().model == "anthropic/claude-sonnet-4.5"


@pytest.mark.parametrize("stop", ["deferred", "pending"])
def test_an_answer_of_pi_that_comes_later_does_not_end_the_loop(project, record, stop):
    lines = [SESSION, message(1, "user", "Go"), answer(2, "", stop)]
    begin(project, "pi", lines)
    assert LoopRecord.objects.get().status == "running"

    (loop,) = record("pi", [*lines, answer(3, "Done")])
    assert (loop.outcome, loop.turns) == ("completed", 2)


def run_of_sub_agents(number, words, copied=()):
    """Return the transcript of a sub-agent, behind the line that stands for its folder."""
    head = {"type": "agent-meta", "sessionId": "s1", "runId": "r7", "agentId": f"run-{number}"}
    session = SESSION | {"id": f"child{number}", "timestamp": "2026-11-22T10:00:03.000Z"}
    return [head, session, *copied, message(3 + number, "user", words), answer(5 + number, "Looked")]


@pytest.mark.parametrize("has_result", [True, False])
def test_the_sub_agents_of_a_run_are_in_the_session_of_the_caller_below_its_call(record, has_result):
    path = "/home/dev/.pi/agent/sessions/--w--/2026-11-22T10-00-00-000Z_s1/r7/run-0/session.jsonl"
    details = {"mode": "parallel", "runId": "r7", "results": [{"agent": "scout", "sessionFile": path}]}
    parent = [SESSION, message(1, "user", "Ask both"), answer(2, "", "toolUse", call="c1")]
    if has_result:
        result = message(8, "toolResult", "Looked", toolCallId="c1", toolName="subagent", details=details)
        parent += [result, answer(9, "Both looked.")]

    main, *below = record("pi", parent, run_of_sub_agents(0, "One"), run_of_sub_agents(1, "Two"))

    assert {loop.session for loop in below} == {main.session}
    assert sorted((loop.title, loop.role, loop.turns) for loop in below) == [
        ("One", "sub_agent", 1),
        ("Two", "sub_agent", 1),
    ]
    calls = [ref.tool_call_id for loop in below for ref in loop.spawned_by.all()]
    assert calls == (["c1", "c1"] if has_result else [])
    assert {loop.parent for loop in below} == {main if has_result else None}


def test_what_a_sub_agent_repeats_of_its_caller_counts_once(record):
    parent = [SESSION, message(1, "user", "Ask"), answer(2, "I ask", "toolUse", call="c1")]
    ends = [message(8, "toolResult", "Looked", toolCallId="c1"), answer(9, "Done")]

    main, below = record("pi", [*parent, *ends], run_of_sub_agents(0, "One", copied=parent[1:]))

    assert [(loop.title, loop.role, loop.turns) for loop in (main, below)] == [
        ("Ask", "normal", 2),
        ("One", "sub_agent", 1),
    ]


def test_a_prompt_behind_the_results_of_all_calls_steers_the_loop(record):
    lines = [SESSION, message(1, "user", "Go"), answer(2, "", "toolUse", call="c1")]
    result = message(3, "toolResult", "a.txt", toolCallId="c1")
    joined = [*lines, result, message(4, "user", "Left"), answer(5, "Done")]
    apart = [*lines, message(3, "user", "Left"), answer(4, "Done")]

    found = [[(loop.title, loop.turns) for loop in record("pi", each)] for each in (joined, apart)]

    assert found == [[("Go", 2)], [("Go", 1), ("Left", 1)]]


@pytest.mark.parametrize("place", [1, 3])
def test_the_name_of_a_session_of_pi_is_its_title(record, place):
    lines = [SESSION, message(1, "user", "Go"), answer(2, "Done")]
    lines.insert(place, entry(3, "session_info", name="My work"))

    (loop,) = record("pi", lines)

    assert (loop.session.title, loop.title) == ("My work", "Go")
