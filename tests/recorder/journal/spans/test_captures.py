"""Every captured body of real senders gives the records of its script, in any order and any split."""

import random

import pytest

from recorder.models import JournalEvent, LoopRecord, Project
from recorder.operations.integrity_check import findings
from recorder.projection.rebuild import rebuild
from tests.recorder.journal.spans import captures

pytestmark = pytest.mark.django_db(transaction=True)

# What the telemetry of a capture does not hold, by capture or emitter: see the note in its expected.json.
UNSEEN = {
    "autogen": {"turns", "input_uncached", "output"},  # no model call spans
    "claude-code-otlp/write": {"tool_calls"},  # the call of Write is in no span and no log record
    "claude-code-otlp/write-pb": {"tool_calls"},
    "langgraph-traceloop/09-thinking": {"reasoning"},
    "pydantic-ai/21-no-content-tool": {"args"},
    "openai-otel-v2/10-cache": {"input_uncached", "cache_read"},
    **{f"{emitter}/08-long-unicode": {"text"} for emitter in  # the script gives its length alone
       ("langgraph-openinference", "pydantic-ai", "vercel-ai-sdk")},
    # No session id is sent, and each prompt is a trace of its own.
    **{f"{emitter}/01-plain-two-prompts": {"sessions"} for emitter in
       ("anthropic-openinference", "openai-agents-logfire", "openai-agents-openinference", "openai-otel-v2")},
}  # fmt: skip
AS_SENT = "body-by-body"
NAMELESS = ("smolagents", "llama-index")  # emitters that send no name of the agent


def project():
    return Project.objects.create(slug="p")


def unseen(capture):
    _, emitter, scenario = capture.split("/")
    return UNSEEN.get(f"{emitter}/{scenario}", set()) | UNSEEN.get(emitter, set())


def assert_records(of, capture):
    """Compare the records of a project with the script of a capture."""
    wanted, found = captures.expected(capture), captures.totals(of)
    assert {name: found[name] for name in wanted["totals"] if name not in unseen(capture)} == {
        name: count for name, count in wanted["totals"].items() if name not in unseen(capture)
    }
    if wanted["loops"] is not None:
        assert_loops(of, capture, wanted["loops"])


def assert_loops(of, capture, wanted):
    loops = list(LoopRecord.objects.filter(session__project=of).order_by("started_at", "id"))
    for loop, want in zip(loops, wanted, strict=True):
        if want["agent"] is not None and capture.split("/")[1] not in NAMELESS:
            assert loop.agent_id == want["agent"]
        assert loop.outcome == (want["status"] or "")
        ref = loop.spawned_by.first()
        assert (ref and loops.index(ref.loop)) == want["parent"]
        assert (ref and ref.tool_name) == want["via_tool"]
        if "turns" not in unseen(capture):
            assert_turns(capture, loop, want["turns"])


def assert_turns(capture, loop, wanted):
    turns = list(loop.turn_records.order_by("ordinal"))
    for turn, want in zip(turns, wanted, strict=True):
        figures = (turn.uncached_tokens, turn.cache_read_tokens, turn.cache_write_tokens, turn.output_tokens)
        if want["usage"] is not None and not unseen(capture) & {"input_uncached", "cache_read"}:
            assert figures == tuple(
                want["usage"][name] for name in ("input_uncached", "cache_read", "cache_write", "output")
            )
        if "tool_calls" not in unseen(capture):
            tools = turn.tool_records.order_by("started_at", "id")
            assert sorted((tool.tool_name, tool.state == "failed") for tool in tools) == sorted(
                (call["name"], call["error"]) for call in want["tool_calls"]
            )
            with_arguments = {call["name"] for call in want["tool_calls"] if call.get("args")}
            if "args" not in unseen(capture):
                assert {tool.tool_name for tool in tools if tool.summary} >= with_arguments
        assert bool(turn.error) == bool(want["error"])
        if turn.answer and want["text"] and "text" not in unseen(capture):
            assert turn.answer.split()[:3] == want["text"].split()[:3]


@pytest.mark.parametrize("capture", captures.CAPTURES)
def test_a_capture_gives_the_records_of_its_script_in_any_order_and_split_repeated_and_rebuilt(capture):
    of, batches = project(), captures.lines(capture)
    captures.record(of, [line for batch in batches for line in batch])
    wanted = captures.shape(of)
    stored = JournalEvent.objects.filter(kind="line").count()
    for batch in batches:
        receipt = captures.record(of, batch)
        assert receipt is None or receipt.accepted == 0
    assert JournalEvent.objects.filter(kind="line").count() == stored
    rebuild(of)
    assert [*captures.differences(captures.shape(of), wanted)] == []
    for name, order in orders(batches):
        other = Project.objects.create(slug=name)
        for batch in order:
            captures.record(other, batch)
        if name == AS_SENT:
            assert_records(other, capture)
        assert [*captures.differences(captures.shape(other), wanted)] == [], name
    assert [each for each in findings() if not each.startswith("quarantine")] == []


def orders(batches):
    lines = [line for batch in batches for line in batch]
    shuffled = random.Random(7).sample(lines, len(lines))
    yield AS_SENT, batches
    yield "reversed", [batch[::-1] for batch in batches[::-1]]
    yield (
        "shuffled",
        [shuffled[at : at + 3] for at in range(0, min(len(shuffled), 120), 3)] + [shuffled[120:]],
    )


@pytest.mark.slow
def test_captures_of_one_project_do_not_mix():
    """The scripted models of the captures give the same ids of responses and calls again and again."""
    shared = project()
    before = captures.totals(shared)
    for number, capture in enumerate(captures.CAPTURES):
        alone = Project.objects.create(slug=f"alone-{number}")
        for batch in captures.lines(capture):
            captures.record(alone, batch)
            captures.record(shared, batch)
        after = captures.totals(shared)
        added = {name: total - before[name] for name, total in after.items()}
        before = after
        wanted = captures.totals(alone)
        assert added.pop("sessions") <= wanted.pop("sessions"), "programs set ids of sessions again, too"
        assert added == wanted, capture
