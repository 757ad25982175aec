"""Cases of transcripts that no capture holds: older releases, errors, stops, forks, lines written again."""

from itertools import count

import pytest

from recorder.ingest.pipeline import Batch, ingest
from recorder.models import Compaction, LoopRecord, Project, Session, ToolCall, Turn
from recorder.projection.rebuild import rebuild
from tests.recorder.journal.spans import captures

pytestmark = pytest.mark.django_db(transaction=True)
SESSION = "5ebec007-f000-40ef-a925-970291de85fe"
NUMBERS = count(1)


@pytest.fixture
def record():
    """Return a function that records streams; line by line gives the same as at once, and as rebuilt."""

    def recorded(form, *streams):
        project = Project.objects.create(slug=f"p{next(NUMBERS)}")
        for number, lines in enumerate(streams):
            send(project, form, str(number), [lines])
        wanted = captures.shape(project)
        single = Project.objects.create(slug=f"p{next(NUMBERS)}")
        for number, lines in reversed([*enumerate(streams)]):
            send(single, form, str(number), [[line] for line in lines])
        assert [*captures.differences(captures.shape(single), wanted)] == []
        rebuild(single)
        assert [*captures.differences(captures.shape(single), wanted)] == []
        return LoopRecord.objects.filter(session__project=project).order_by("started_at", "id")

    return recorded


def send(project, form, name, batches):
    at = 0
    for batch in batches:
        ingest(Batch(project.pk, name, at, [captures.json.dumps(line).encode() for line in batch], form))
        at += len(batch)
    ingest(Batch(project.pk, name, None, [], form, flush=True))


class Claude:
    """Writes lines as Claude Code does, a second after each other."""

    def __init__(self, **common):
        self.common = {"sessionId": SESSION, "isSidechain": False, "cwd": "/home/dev", **common}
        self.lines, self.seconds = [], 0

    def line(self, kind, **fields):
        self.seconds += 1
        uuid = f"u{self.seconds}"
        at = f"2026-11-22T15:{self.seconds // 60:02}:{self.seconds % 60:02}.000Z"
        self.lines.append({**self.common, "type": kind, "uuid": uuid, "timestamp": at, **fields})
        return uuid

    def prompt(self, text, **fields):
        message = {"role": "user", "content": text}
        return self.line("user", message=message, promptId=f"p{self.seconds}", **fields)

    def answer(self, key, *blocks, output=10, stop="end_turn", **fields):
        usage = {"input_tokens": 100, "output_tokens": output}
        message = {"id": key, "role": "assistant", "model": "claude-sonnet-4-5", "usage": usage}
        message |= {"content": [*blocks], "stop_reason": stop}
        return self.line("assistant", message=message, **fields)

    def result(self, call, text, **fields):
        block = {"type": "tool_result", "tool_use_id": call, "content": text}
        return self.line("user", message={"role": "user", "content": [block]}, **fields)


def text(words):
    return {"type": "text", "text": words}


def use(call, name="Bash", **arguments):
    return {"type": "tool_use", "id": call, "name": name, "input": arguments}


def test_an_error_of_the_provider_is_a_turn_of_its_own(record):
    claude = Claude()
    claude.prompt("Go")
    message = {"id": "e1", "model": "<synthetic>", "content": [text("API Error: 529 overloaded")]}
    claude.line("assistant", message=message, isApiErrorMessage=True)
    claude.answer("m1", text("Done"))

    (loop,) = record("claude-code", claude.lines)

    assert (loop.turns, loop.errors, loop.outcome) == (2, 1, "completed")
    assert [*loop.turn_records.order_by("ordinal").values_list("error", "output_tokens")] == [
        ("API Error: 529 overloaded", 0),
        ("", 10),
    ]


def test_of_several_reports_of_usage_the_one_with_the_most_output_counts(record):
    claude = Claude()
    claude.prompt("Go")
    for output in (1, 42, 3):
        claude.answer("m1", text(f"Part {output}"), output=output)

    (loop,) = record("claude-code", claude.lines)

    assert (loop.turns, loop.output_tokens) == (1, 42)


def test_a_result_may_come_between_the_blocks_of_an_answer(record):
    claude = Claude()
    claude.prompt("Go")
    claude.answer("m1", use("c1"), stop="tool_use")
    claude.result("c1", "one")
    claude.answer("m1", use("c2"), stop="tool_use")
    claude.result("c2", "two")
    claude.answer("m2", text("Done"))

    (loop,) = record("claude-code", claude.lines)

    assert (loop.turns, loop.tool_calls, loop.output_tokens) == (2, 2, 20)


def test_a_request_that_was_interrupted_is_cancelled(record):
    claude = Claude()
    claude.prompt("Go")
    claude.answer("m1", use("c1"), stop="tool_use")
    claude.prompt("[Request interrupted by user for tool use]")
    claude.prompt("Something else")
    claude.answer("m2", text("Done"))

    loops = record("claude-code", claude.lines)

    assert [(loop.title, loop.outcome, loop.errors) for loop in loops] == [
        ("Go", "cancelled", 0),
        ("Something else", "completed", 0),
    ]


def test_a_compaction_has_its_summary_and_the_tokens_before_it(record):
    claude = Claude()
    claude.prompt("Go")
    claude.answer("m1", use("c1"), stop="tool_use")
    claude.result("c1", "one")
    claude.line("system", subtype="compact_boundary", compactMetadata={"trigger": "auto", "preTokens": 9000})
    summary = {"role": "user", "content": "What was done so far"}
    claude.line("user", message=summary, isCompactSummary=True)
    claude.answer("m2", text("Done"))

    (loop,) = record("claude-code", claude.lines)

    assert (loop.turns, loop.outcome) == (2, "completed")
    compaction = Compaction.objects.filter(loop=loop).get()
    assert (compaction.summary, compaction.tokens_before) == ("What was done so far", 9000)


def test_sub_agents_of_older_releases_stand_in_the_main_file(record):
    claude = Claude()
    claude.prompt("Ask both")
    claude.answer("m1", use("t1", "Task", prompt="One", subagent_type="Explore"), stop="tool_use")
    claude.answer("m1", use("t2", "Task", prompt="Two", subagent_type="Plan"), stop="tool_use")
    one = claude.prompt("One", isSidechain=True, parentUuid=None)
    two = claude.prompt("Two", isSidechain=True, parentUuid=None)
    one = claude.answer("a1", use("c1"), stop="tool_use", isSidechain=True, parentUuid=one)
    two = claude.answer("b1", text("Two it is"), isSidechain=True, parentUuid=two)
    one = claude.result("c1", "1", isSidechain=True, parentUuid=one)
    claude.answer("a2", text("One it is"), isSidechain=True, parentUuid=one)
    claude.result("t2", "Two it is")
    claude.result("t1", "One it is")
    claude.answer("m2", text("Both"))

    main, first, second = record("claude-code", claude.lines)

    found = [(loop.agent_id, loop.turns, loop.tool_calls, loop.outcome) for loop in (main, first, second)]
    assert found == [
        ("claude-code", 2, 2, "completed"),
        ("Explore", 2, 1, "completed"),
        ("Plan", 1, 0, "completed"),
    ]
    refs = [loop.spawned_by.get() for loop in (first, second)]
    assert [(ref.loop, ref.tool_call_id) for ref in refs] == [(main, "t1"), (main, "t2")]


def test_the_history_of_a_forked_session_is_not_recorded_again(record):
    claude = Claude()
    fork = {"sessionId": "another", "messageUuid": "u1"}
    claude.prompt("Old", forkedFrom=fork)
    claude.answer("m1", text("Old answer"), forkedFrom=fork)
    claude.prompt("New")
    claude.answer("m2", text("New answer"))

    (loop,) = record("claude-code", claude.lines)

    assert (loop.title, loop.turns) == ("New", 1)


def codex(*payloads, **meta):
    head = {"id": "thread", "session_id": "thread", "cwd": "/home/dev", "model_provider": "openai", **meta}
    lines = [("session_meta", head), ("event_msg", {"type": "task_started", "turn_id": "t1"}), *payloads]
    return [
        {"timestamp": f"2026-11-22T15:00:{at:02}.000Z", "type": kind, "payload": payload}
        for at, (kind, payload) in enumerate(lines)
    ]


def item(kind, **payload):
    return ("response_item", {"type": kind, **payload})


def codex_call(output):
    return codex(
        item("function_call", name="shell", arguments="{}", call_id="c1"),
        item("function_call_output", call_id="c1", output=output),
        item("message", role="assistant", content=[{"type": "output_text", "text": "Done"}]),
        ("event_msg", {"type": "task_complete", "last_agent_message": "Done"}),
    )


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        ("Chunk ID: 1\nProcess exited with code 2\nOutput:\nno\n", True),
        ("Chunk ID: 1\nProcess exited with code 0\nOutput:\nProcess exited with code 2\n", False),
        ("Exit code: 1\nWall time: 0 seconds\nOutput:\nno\n", True),
        ('{"output":"no","metadata":{"exit_code":1,"duration_seconds":0.1}}', True),
        ('{"output":"Exit code: 1","metadata":{"exit_code":0}}', False),
        ({"content": "no", "success": False}, True),
        ({"content": "yes", "success": True}, False),
        ("Plan updated, see exit 1", False),
    ],
)
def test_whether_a_command_of_codex_failed(record, output, failed):
    (loop,) = record("codex", codex_call(output))

    assert (loop.tool_calls, loop.errors, loop.outcome) == (1, int(failed), "completed")


def test_a_task_of_codex_that_failed_has_the_error(record):
    error = {"message": "unexpected status 500", "codex_error_info": "other"}
    done = {"type": "task_complete", "last_agent_message": None, "error": error}

    (loop,) = record("codex", codex(("event_msg", done)))

    assert (loop.outcome, loop.turns, loop.error) == ("failed", 1, "unexpected status 500")


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


@pytest.mark.parametrize("form", ["claude-code", "codex", "gemini-cli", "opencode", "pi"])
def test_lines_that_make_no_sense_are_kept_and_harm_nothing(form, record):
    odd = [{}, {"type": []}, {"type": "message", "message": 1}, {"type": "user", "sessionId": SESSION}]
    odd += [{"type": "assistant", "sessionId": SESSION, "message": {"content": [{"type": "tool_use"}]}}]
    odd += [
        {"type": "response_item", "payload": {"type": "function_call"}},
        {"type": "gemini", "toolCalls": [{}]},
    ]
    odd += [{"type": "opencode.message", "message": {"role": "assistant"}, "parts": [{"type": "tool"}]}]
    project = Project.objects.create(slug="odd")

    receipt = ingest(Batch(project.pk, "odd", 0, [captures.json.dumps(line).encode() for line in odd], form))

    assert receipt.accepted + len(receipt.rejected) == len(odd)
    assert {rejected.code for rejected in receipt.rejected} <= {"missing_field", "wrong_type"}
    assert Session.objects.filter(project=project).count() <= 1
    assert Turn.objects.filter(loop__session__project=project).count() <= 2
