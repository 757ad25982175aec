"""Cases of Gemini CLI that no capture holds: lines written again, sub-agents."""

import pytest

from recorder.models import ToolCall
from tests.recorder.imports.field_cases import cases

pytestmark = pytest.mark.django_db(transaction=True)
GEMINI = {"sessionId": "g1", "projectHash": "00", "startTime": "2026-11-22T15:00:00Z", "kind": "main"}


def gemini(at, **fields):
    tokens = {"input": 100, "output": 10, "cached": 20, "thoughts": 5, "tool": 0, "total": 115}
    head = {"id": f"g{at}", "timestamp": f"2026-11-22T15:00:{at:02}Z", "type": "gemini", "content": ""}
    return head | {"model": "gemini-2.5-flash", "tokens": tokens} | fields


def gemini_user(at, words):
    return gemini(at, type="user", content=[{"text": words}])


def gemini_call(call, output=None, name="run_shell_command", **fields):
    response = {"functionResponse": {"id": call, "name": name, "response": {"output": output}}}
    result = {} if output is None else {"result": [response]}
    return {"id": call, "name": name, "args": {}, "status": "success", **result, **fields}


def test_a_message_of_gemini_may_be_written_again_with_more_calls(record):
    one, two = gemini_call("c1", "one"), gemini_call("c2", "two")
    lines = [
        GEMINI,
        gemini_user(1, "Go"),
        gemini(2, content="I go", tokens=None),
        gemini(2, content="I go"),
        gemini(2, content="I go", toolCalls=[one, gemini_call("c2")]),
        gemini(2, content="I go", toolCalls=[one, two, gemini_call("c3", "three")]),
        gemini(3, content="Done"),
    ]

    (loop,) = record("gemini-cli", lines)

    assert (loop.turns, loop.tool_calls, loop.output_tokens, loop.outcome) == (2, 3, 30, "completed")
    assert ToolCall.objects.filter(loop=loop, state="done").count() == 3


def test_a_request_of_gemini_that_the_user_cancelled_is_a_cancelled_loop(record):
    call = gemini_call("c1", name="run_shell_command", status="cancelled")
    lines = [GEMINI, gemini_user(1, "Go"), gemini(2, toolCalls=[call])]
    lines += [
        gemini(3, type="info", content="Request cancelled."),
        gemini_user(4, "Again"),
        gemini(5, content="Ok"),
    ]

    loops = record("gemini-cli", lines)

    assert [(loop.outcome, loop.errors) for loop in loops] == [("cancelled", 0), ("completed", 0)]


def test_an_error_of_gemini_ends_a_loop_as_failed_unless_it_had_ended(record):
    error = {"type": "error", "content": "[API Error: quota]"}
    lines = [GEMINI, gemini_user(1, "Go"), gemini(2, **error)]
    lines += [gemini_user(3, "Again"), gemini(4, content="Ok"), gemini(5, **error)]
    lines += [gemini_user(6, "Once more"), gemini(7, **error), gemini(8, content="Ok after all")]

    loops = record("gemini-cli", lines)

    assert [loop.outcome for loop in loops] == ["failed", "completed", "completed"]
    assert {loop.error for loop in loops} == {"[API Error: quota]"}


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        ("Output: no\nExit Code: 2\nProcess Group PGID: 1\n</untrusted_context>", True),
        ("Stdout: no\nError: (none)\nExit Code: 1\nSignal: (none)\nProcess Group PGID: 1", True),
        ("Output: Exit Code: 2\nProcess Group PGID: 1", False),
        ("Output: a\nExit Code: 2\nb\nProcess Group PGID: 1", False),
        ("Output: a\nExit Code: 0\nSignal: (none)", False),
    ],
)
def test_whether_a_command_of_gemini_failed(record, output, failed):
    lines = [GEMINI, gemini_user(1, "Go"), gemini(2, toolCalls=[gemini_call("c1", output)])]

    (loop,) = record("gemini-cli", lines)

    assert (loop.tool_calls, loop.errors) == (1, int(failed))


@pytest.mark.parametrize(
    ("error", "calls", "denied"),
    [
        ("[Operation Cancelled] Reason: User did not allow tool call", 1, 1),
        ("[Operation Cancelled] Reason: User cancelled the operation.", 2, 0),
        (None, 2, 0),
    ],
)
def test_a_cancelled_call_of_gemini_is_no_error(record, error, calls, denied):
    response = {"functionResponse": {"id": "c2", "name": "write_file", "response": {"error": error}}}
    result = {} if error is None else {"result": [response]}
    cancelled = gemini_call("c2", name="write_file", status="cancelled", **result)
    tools = [gemini_call("c1", "one"), cancelled]
    lines = [GEMINI, gemini_user(1, "Go"), gemini(2, toolCalls=tools), gemini(3, content="Done")]

    (loop,) = record("gemini-cli", lines)

    assert (loop.tool_calls, loop.errors, loop.approvals.filter(decision="denied").count()) == (
        *(calls, 0, denied),
    )
    assert {tool.state for tool in loop.tool_records.all()} == {"done"}


def test_a_sub_agent_of_gemini_is_a_session_below_its_caller(record):
    call = gemini_call("c1", "three files", name="codebase_investigator", agentId="k3x9ab")
    parent = [GEMINI, gemini_user(1, "Go"), gemini(2, toolCalls=[call]), gemini(9, content="Done")]
    done = gemini_call("d1", "ok", name="complete_task")
    child = [
        GEMINI | {"sessionId": "k3x9ab", "kind": "subagent"},
        gemini_user(4, "Count the files"),
        gemini(5, toolCalls=[gemini_call("l1", "a b c", name="list_directory")]),
        gemini(6, toolCalls=[done]),
        gemini(6, toolCalls=[done], content=""),
    ]

    main, below = record("gemini-cli", parent, child)

    assert (below.session.session_id, below.turns, below.outcome) == ("k3x9ab", 2, "completed")
    ref = below.spawned_by.get()
    assert (ref.loop, ref.tool_name) == (main, "codebase_investigator")


def test_a_message_that_the_program_writes_to_a_sub_agent_begins_no_loop(record):
    child = {**GEMINI, "sessionId": "g2", "kind": "subagent"}
    final = gemini_call("c1", "Done", name="complete_task")
    lines = [child, gemini_user(1, "Look"), gemini(2, content="Hm"), {"$set": {"lastUpdated": "now"}}]
    lines += [
        gemini_user(3, "You have stopped calling tools without finishing."),
        gemini(4, toolCalls=[final]),
    ]

    (loop,) = record("gemini-cli", lines)

    assert (loop.turns, loop.tool_calls, loop.output_tokens, loop.outcome) == (2, 1, 30, "completed")


LATE = gemini_call("c1", "ok"), gemini_call("c2", "ok")


@pytest.mark.parametrize("late", [LATE[:1], LATE])
def test_an_answer_of_gemini_that_is_written_again_behind_a_later_one_counts_once(record, late):
    prompt, last = gemini_user(1, "Go"), gemini(3, content="Done")
    again = gemini(2, content="I go", toolCalls=[*late])
    lines = [GEMINI, prompt, gemini(2, content="I go", toolCalls=[gemini_call("c1")]), last, again]
    lines += [again, prompt, {"$set": {"lastUpdated": "now"}}]

    (loop,) = record("gemini-cli", lines)

    assert (loop.turns, loop.tool_calls, loop.output_tokens, loop.outcome) == (2, len(late), 30, "completed")
    assert {tool.state for tool in loop.tool_records.all()} == {"done"}


@pytest.mark.parametrize(("undone", "above"), [(3, "g1.g1"), (4, "g1.g3"), (1, None), (9, None)])
def test_a_prompt_behind_undone_messages_of_gemini_is_a_branch(record, undone, above):
    lines = [GEMINI, gemini_user(1, "One"), gemini(2, content="1"), gemini_user(3, "Two")]
    lines += [gemini(4, content="2"), {"$rewindTo": f"g{undone}"}, gemini_user(5, "Other")]
    lines += [gemini(6, content="3"), gemini_user(7, "More"), gemini(8, content="4")]

    loops = record("gemini-cli", lines)

    found = [(loop.continuation_kind, loop.continuation_tag, loop.turns) for loop in loops]
    plain = ("Initial", None, 1)
    assert found == [plain, plain, ("Branch", "undone", 1), plain]
    assert (loops[2].parent and loops[2].parent.loop_id) == above


@pytest.mark.parametrize(
    ("part", "title"),
    [
        ({"inlineData": {"mimeType": "image/png", "data": "A"}}, "[image]"),
        ({"fileData": {"mimeType": "application/pdf", "fileUri": "gs://a"}}, "[file]"),
    ],
)
def test_a_prompt_of_gemini_without_words_begins_a_loop(record, part, title):
    lines = [GEMINI, gemini_user(1, "Go"), gemini(2, content="1"), gemini(3, type="user", content=[part])]

    loops = record("gemini-cli", [*lines, gemini(4, content="2")])

    assert [(loop.title, loop.turns) for loop in loops] == [("Go", 1), (title, 1)]


ZEROS = {"input": 0, "output": 0, "cached": 0, "thoughts": 0, "tool": 0, "total": 0}
SAVED = {"$set": {"lastUpdated": "now"}}


@pytest.mark.parametrize("tokens", [None, ZEROS])
@pytest.mark.parametrize(
    ("between", "titles"),
    [
        ([], ["Go"]),
        ([SAVED], ["Go"]),
        ([gemini(3, content="Done")], ["Go"]),
        ([gemini(3, content="Done"), SAVED], ["Go"]),
        ([gemini_user(3, "More")], ["Go", "More"]),
        ([SAVED, gemini_user(3, "More"), gemini(4, content="Ok"), SAVED], ["Go", "More"]),
    ],
)
def test_usage_that_gemini_writes_late_counts_once_at_its_turn(record, between, titles, tokens):
    lines = [GEMINI, gemini_user(1, "Go"), gemini(2, content="I go", tokens=tokens), *between]
    late = gemini(2, content="I go", tokens={"input": 300, "output": 40, "cached": 0, "thoughts": 2})
    rest = [gemini_user(8, "Last"), gemini(9, content="Bye")]

    loops = record("gemini-cli", [*lines, late, late, SAVED, late, *rest])

    assert [loop.title for loop in loops] == [*titles, "Last"]
    answers = sum("model" in line and line["type"] == "gemini" for line in between)
    assert sum(loop.turns for loop in loops) == 2 + answers
    first = loops[0].turn_records.get(turn_index=0)
    assert (first.input_tokens, first.output_tokens, first.reasoning_tokens) == (300, 42, 2)
    assert first.cost_nano > 0
    for loop in loops:
        assert [*cases.contradictions(loop.session.project)] == []


def test_a_chat_of_gemini_that_goes_on_in_a_copy_counts_once(record):
    call = gemini(2, content="I go", toolCalls=[gemini_call("c1")])
    done = gemini(2, content="I go", toolCalls=[gemini_call("c1", "ok")])
    chat = [GEMINI, gemini_user(1, "Go"), call, done, gemini(3, content="Done")]
    again = [*chat, SAVED, gemini_user(4, "More"), gemini(5, content="Ok"), SAVED]

    for files in ((chat, again), (again, chat), (chat, chat, again)):
        loops = record("gemini-cli", *files)
        found = [(loop.title, loop.turns, loop.tool_calls, loop.output_tokens) for loop in loops]
        assert found == [("Go", 2, 1, 30), ("More", 1, 0, 15)]
