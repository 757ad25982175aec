"""Results that parallel writers of Claude Code wrote before their calls, or behind the next prompt."""

import pytest

from recorder.models import ToolCall
from tests.recorder.imports.transcripts.claude_code.test_sessions import Claude, agent, text, use

pytestmark = pytest.mark.django_db(transaction=True)


def of_later_call(claude):
    claude.answer("m1", use("c1"), stop="tool_use")
    claude.result("c2", "two", error=True)
    claude.answer("m1", use("c2"), stop="tool_use")
    claude.result("c1", "one")


def of_first_call(claude):
    claude.result("c1", "one")
    claude.result("c2", "two", error=True)
    claude.answer("m1", use("c1"), use("c2"), stop="tool_use")


@pytest.mark.parametrize("write", [of_later_call, of_first_call])
def test_a_result_before_its_call_is_the_result_of_the_call(record, write):
    claude = Claude()
    claude.prompt("Go")
    write(claude)
    claude.answer("m2", text("Done"))

    (loop,) = record("claude-code", claude.lines)

    assert (loop.turns, loop.tool_calls, loop.errors, loop.outcome) == (2, 2, 1, "completed")
    project = loop.session.project
    calls = ToolCall.objects.filter(loop__session__project=project).order_by("tool_call_id")
    assert [(call.tool_call_id, call.state) for call in calls] == [("c1", "done"), ("c2", "failed")]


def test_a_result_before_its_call_links_the_sub_agent_that_it_names(record):
    claude = Claude()
    claude.prompt("Go")
    claude.result("c1", "Seen", toolUseResult={"agentId": "a1"})
    claude.answer("m1", use("c1", "Agent", prompt="Look"), stop="tool_use")
    one = agent(claude, "a1", "p0", after=20)
    one.answer("a", text("Seen"))
    claude.answer("m2", text("Done"))

    main, below = record("claude-code", claude.lines, one.lines)

    assert (below.parent, [ref.tool_call_id for ref in below.spawned_by.all()]) == (main, ["c1"])


@pytest.mark.parametrize("outcome", ["completed", "cancelled"])
def test_a_result_behind_the_next_prompt_is_that_of_its_call(record, outcome):
    """Two processes write to one session; a call that the user interrupted has no result."""
    claude = Claude()
    claude.prompt("One")
    claude.answer("m1", use("c1"), stop="tool_use")
    if outcome == "cancelled":
        claude.prompt("[Request interrupted by user for tool use]")
    claude.prompt("Two")
    claude.answer("m2", use("c2"), stop="tool_use")
    claude.result("c1", "one")
    claude.result("c2", "two")
    claude.answer("m3", text("Done"))

    one, two = record("claude-code", claude.lines)

    assert (one.outcome, one.turns, two.outcome, two.turns) == (outcome, 1, "completed", 2)
    states = ToolCall.objects.filter(loop__in=(one, two)).order_by("loop__started_at")
    assert [call.state for call in states] == ["done" if outcome == "completed" else "cut", "done"]


def test_a_result_of_an_earlier_run_of_a_sub_agent_leaves_the_later_one_as_it_is(record):
    claude = Claude()
    claude.prompt("Go")
    one = agent(claude, "a1", "p0")
    one.answer("a", use("c1"), stop="tool_use", output=3)
    one.prompt("Again")
    one.answer("b", use("c2"), stop="tool_use", output=5)
    one.result("c1", "one")
    one.result("c2", "two")
    one.answer("c", text("Done"), output=7)

    _, first, again = record("claude-code", claude.lines, one.lines)

    assert (first.output_tokens, again.output_tokens, again.turns) == (3, 12, 2)
    states = ToolCall.objects.filter(loop__in=(first, again)).order_by("loop__started_at")
    assert [call.state for call in states] == ["cut", "done"]


def test_a_copy_of_a_result_is_not_the_result_of_a_later_call_with_the_same_id(record):
    claude = Claude()
    claude.prompt("Go")
    claude.answer("m1", use("call_0"), stop="tool_use")
    claude.result("call_0", "one")
    claude.result("call_0", "one", error=True)
    claude.answer("m2", use("call_0"), stop="tool_use")

    (loop,) = record("claude-code", claude.lines)

    assert (loop.tool_calls, loop.errors, loop.outcome) == (2, 0, "aborted")
