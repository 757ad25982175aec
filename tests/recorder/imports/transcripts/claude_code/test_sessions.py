"""Cases of Claude Code that no capture holds: errors, stops, forks, older releases."""

import pytest

from recorder.models import Anomaly, Compaction, LoopRecord
from tests.recorder.imports.transcripts.conftest import begin

pytestmark = pytest.mark.django_db(transaction=True)
SESSION = "5ebec007-f000-40ef-a925-970291de85fe"


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

    def result(self, call, text, *, error=False, **fields):
        block = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": error}
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


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("system", {"subtype": "turn_duration", "durationMs": 40}),
        ("cost-state", {"totalCostUSD": 0.0009}),
        ("last-prompt", {"lastPrompt": "Go"}),
    ],
)
def test_a_loop_ends_when_the_agent_waits_or_exits_wherever_the_last_prompt_is(project, record, kind, fields):
    claude = Claude()
    claude.prompt("Go")
    claude.answer("m1", use("c1"), stop="tool_use")
    claude.line("last-prompt", lastPrompt="Go")
    claude.result("c1", "one")
    claude.line("last-prompt", lastPrompt="Go")
    claude.answer("m2", {"type": "thinking", "thinking": "Easy"})
    claude.line("last-prompt", lastPrompt="Go")
    claude.answer("m2", text("Done"))
    begin(project, "claude-code", claude.lines)
    assert LoopRecord.objects.get().status == "running"

    claude.line(kind, **fields)
    (loop,) = record("claude-code", claude.lines)
    begin(project, "claude-code", claude.lines)
    live = LoopRecord.objects.get(session__project=project)

    for each in (live, loop):
        assert (each.status, each.outcome, each.turns, each.tool_calls) == ("completed", "completed", 2, 1)


def test_lines_that_are_no_messages_are_recognised(project):
    claude = Claude()
    claude.line("atis-latch", atis="")
    claude.prompt("Go")
    for kind in ("api-request-shape", "api-request-blob", "api-request", "tools-used"):
        claude.line(kind)
    claude.answer("m1", text("Done"))
    claude.line("cost-state")
    begin(project, "claude-code", claude.lines)
    assert [*Anomaly.objects.values_list("kind", flat=True)] == []


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


def test_a_turn_begins_with_the_results_that_it_answers(record):
    claude = Claude()
    claude.prompt("Go")
    claude.answer("m1", use("c1"), stop="tool_use")
    claude.seconds += 5
    claude.result("c1", "one")
    claude.seconds += 10
    claude.answer("m2", text("Done"))

    (loop,) = record("claude-code", claude.lines)

    turns = loop.turn_records.order_by("ordinal")
    assert [(turn.ended_at - turn.started_at).seconds for turn in turns] == [7, 11]


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


REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was"


@pytest.mark.parametrize(
    ("result", "calls", "decision"),
    [
        (REJECTED, 1, "denied"),
        ("Claude requested permissions to use Bash, but you haven't granted it yet.", 1, "denied"),
        ("Permission to use Bash has been denied.", 1, "denied"),
        ("Permission for this action has been denied. Reason: Blocked by classifier.", 1, "denied"),
        ("PreToolUse:Bash hook error: [check.sh]: not on main", 1, "denied"),
        ("The user doesn't want to take this action right now. STOP what you are doing", 1, None),
        ("[Request interrupted by user for tool use]", 2, None),
    ],
)
def test_a_call_that_was_denied_or_cancelled_is_no_error(record, result, calls, decision):
    claude = Claude()
    claude.prompt("Go")
    claude.answer("m1", use("c1"), use("c2"), stop="tool_use")
    claude.result("c1", "one")
    claude.result("c2", result, error=True)
    claude.answer("m2", text("Done"))

    (loop,) = record("claude-code", claude.lines)

    assert (loop.turns, loop.tool_calls, loop.errors, loop.waiting) == (2, calls, 0, 0)
    assert {tool.state for tool in loop.tool_records.all()} == {"done"}
    decisions = [approval.decision for approval in loop.approvals.all()]
    assert decisions == ([decision] if decision else [])


def test_the_result_of_a_command_may_speak_of_a_denial(record):
    claude = Claude()
    claude.prompt("Go")
    claude.answer("m1", use("c1"), use("c2"), stop="tool_use")
    claude.result("c1", REJECTED)
    claude.result("c2", "Exit code 1", error=True)
    claude.answer("m2", text("Done"))

    (loop,) = record("claude-code", claude.lines)

    assert (loop.tool_calls, loop.errors, loop.approvals.count()) == (2, 1, 0)


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


def agent(main, name, prompt, *, after=0):
    """Return the transcript of a sub-agent that works on a prompt of the main agent."""
    found = Claude(isSidechain=True, agentId=name, attributionAgent="Explore")
    found.seconds = main.seconds + after
    found.line("user", message={"role": "user", "content": f"For {name}"}, promptId=prompt)
    return found


@pytest.mark.parametrize("is_killed", [True, False])
def test_a_sub_agent_is_below_the_loop_of_its_prompt(record, is_killed):
    main = Claude()
    main.prompt("Ask")
    main.answer("m1", use("t1", "Agent", prompt="For a1"), stop="tool_use")
    below = agent(main, "a1", "p0")
    below.answer("a", text("One"))
    if not is_killed:
        main.seconds += 5
        main.result("t1", "One", toolUseResult={"agentId": "a1"})
        main.answer("m2", text("Done"))

    outer, inner = record("claude-code", main.lines, below.lines)

    assert (inner.parent, inner.role, inner.agent_id) == (outer, "sub_agent", "Explore")
    assert inner.spawned_by.count() == outer.session.sub_agents == (not is_killed)
    session = outer.session
    assert (session.head, session.title, session.agent_id) == (outer, "Ask", "claude-code")
    assert session.outcome == ("aborted" if is_killed else "completed")


@pytest.mark.parametrize("is_killed", [True, False])
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 0, 1), (2, 1, 0), (0, 2, 1), (1, 2, 0)])
def test_a_sub_agent_of_a_sub_agent_is_below_its_caller(record, order, is_killed):
    main = Claude()
    main.prompt("Ask")
    main.answer("m1", use("t1", "Agent", prompt="For a1"), stop="tool_use")
    one = agent(main, "a1", "p0")
    one.answer("a", use("t2", "Agent", prompt="For a2"), stop="tool_use")
    two = agent(main, "a2", "p0", after=4)
    two.answer("b", text("Two"))
    if not is_killed:
        one.seconds += 5
        one.result("t2", "Two", toolUseResult={"agentId": "a2"})
        one.answer("c", text("One"))

    files = [main.lines, one.lines, two.lines]
    outer, middle, inner = record("claude-code", *[files[at] for at in order])

    assert (outer.parent, middle.parent, inner.parent) == (None, outer, outer if is_killed else middle)
    assert {middle.role, inner.role} == {"sub_agent"}


def test_sub_agents_of_older_releases_are_in_the_main_file(record):
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
    assert main.session.activity == "Both"


def test_the_history_of_a_forked_session_is_recorded_where_its_origin_never_comes(record):
    claude = Claude()
    fork = {"sessionId": "another", "messageUuid": "u1"}
    claude.prompt("Old", forkedFrom=fork)
    claude.answer("m1", text("Old answer"), forkedFrom=fork)
    claude.prompt("New")
    claude.answer("m2", text("New answer"))

    loops = record("claude-code", claude.lines)

    assert [(loop.title, loop.turns) for loop in loops] == [("Old", 1), ("New", 1)]
