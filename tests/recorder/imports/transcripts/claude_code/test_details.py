"""What Claude Code writes beside messages: `meta.json`, calls within calls, decisions, titles, new types."""

from decimal import Decimal

import pytest

from recorder.models import Anomaly, EventRecord, Session
from tests.recorder.imports.transcripts.claude_code.test_sessions import SESSION, Claude, text, use
from tests.recorder.imports.transcripts.conftest import begin

pytestmark = pytest.mark.django_db(transaction=True)
ADVICE = {"type": "advisor_message", "model": "claude-opus-4-7", "input_tokens": 50, "output_tokens": 7}
REFUSED = {"type": "message", "model": "claude-fable-5", "input_tokens": 90, "output_tokens": 0}


def agent(name, call, above="", *, seconds):
    """Return the file of a sub-agent, with the line that stands for its `meta.json`."""
    found = Claude(agentId=name, isSidechain=True)
    meta = {"type": "agent-meta", "sessionId": SESSION, "agentId": name, "toolUseId": call}
    found.lines.append({**meta, "parentAgentId": above, "agentType": "Explore"})
    found.seconds = seconds
    found.line("user", message={"role": "user", "content": f"For {name}"}, promptId="p0")
    return found


def nested():
    main = Claude()
    main.prompt("Ask")
    main.answer("m1", use("t1", "Agent", prompt="For a1"), stop="tool_use")
    one = agent("a1", "t1", seconds=3)
    one.answer("a", use("t2", "Agent", prompt="For a2"), stop="tool_use")
    two = agent("a2", "t2", "a1", seconds=6)
    two.answer("b", text("Two"))
    return main, one, two


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 0, 1), (2, 1, 0), (0, 2, 1), (1, 2, 0)])
@pytest.mark.parametrize("has_result", [True, False])
def test_sub_agents_are_linked_by_their_meta_at_every_depth_and_once(record, order, has_result):
    main, one, two = nested()
    if has_result:
        main.seconds += 20
        main.result("t1", "One", toolUseResult={"agentId": "a1"})
        main.answer("m2", text("Done"))

    files = [each.lines for each in (main, one, two)]
    outer, middle, inner = record("claude-code", *[files[at] for at in order])

    assert (outer.parent, middle.parent, inner.parent) == (None, outer, middle)
    for caller, call, child in ((outer, "t1", middle), (middle, "t2", inner)):
        refs = [(ref.tool_call_id, ref.tool_name, ref.child) for ref in caller.child_refs.all()]
        assert refs == [(call, "Agent", child)]
    session = outer.session
    assert (session.sub_agents, session.title, inner.agent_id) == (2, "Ask", "Explore")
    assert "spawned_by" not in session.metadata
    assert not Anomaly.objects.exists()


def test_a_running_sub_agent_is_below_its_call(project):
    for number, each in enumerate(nested()[:2]):
        begin(project, "claude-code", each.lines, f"file {number}")

    (ref,) = Session.objects.get().head.child_refs.all()
    assert (ref.tool_call_id, ref.child.agent_id, ref.child.status) == ("t1", "Explore", "running")
    assert Session.objects.get().sub_agents == 1


def answered(claude, usage, **message):
    usage = {"input_tokens": 100, "output_tokens": 10, **usage}
    about = {"id": "m1", "role": "assistant", "model": "claude-opus-4-6", "usage": usage, **message}
    claude.line("assistant", message={"content": [text("Done")], "stop_reason": "end_turn", **about})


def test_calls_of_other_models_within_an_answer_are_turns_of_their_own(record):
    claude = Claude()
    claude.prompt("Go")
    own = {"type": "message", "input_tokens": 100, "output_tokens": 10}
    answered(claude, {"iterations": [own, ADVICE, REFUSED]})
    answered(claude, {"iterations": [own, ADVICE, REFUSED]}, content=[text("Really done")])
    claude.line("system", subtype="turn_duration")

    (loop,) = record("claude-code", claude.lines)

    turns = loop.turn_records.order_by("ordinal").values_list("model", "input_tokens", "output_tokens")
    assert [*turns] == [("claude-opus-4-6", 100, 10), ("claude-opus-4-7", 50, 7)]
    assert (loop.outcome, loop.turns, loop.output_tokens) == ("completed", 2, 17)


def test_a_compaction_by_the_provider_within_an_answer_is_a_turn_of_its_own(record):
    claude = Claude()
    claude.prompt("Go")
    compaction = {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500}
    answered(
        claude, {"iterations": [compaction, {"type": "message", "input_tokens": 100, "output_tokens": 10}]}
    )

    (loop,) = record("claude-code", claude.lines)

    turns = loop.turn_records.order_by("ordinal").values_list("model", "input_tokens", "output_tokens")
    assert [*turns] == [("claude-opus-4-6", 100, 10), ("claude-opus-4-6", 180_000, 3_500)]
    assert loop.cost_nano == 180_100 * 5_000 + 3_510 * 25_000


@pytest.mark.parametrize(
    ("usage", "message", "dollars"),
    [
        ({"speed": "standard"}, {}, "0.00075"),
        ({"speed": "fast"}, {}, "0.0045"),
        ({"speed": "fast"}, {"model": "claude-opus-5-5"}, "0.0012"),
        ({"inference_geo": "us"}, {}, "0.000825"),
        ({"inference_geo": "us", "speed": "fast"}, {}, "0.00495"),
        ({"output_tokens": 0}, {"stop_reason": "refusal"}, "0"),
    ],
)
def test_fast_mode_and_refusals_cost_what_the_vendor_bills(record, usage, message, dollars):
    claude = Claude()
    claude.prompt("Go")
    answered(claude, usage, **message)

    (loop,) = record("claude-code", claude.lines)

    assert Decimal(loop.cost_nano) / 10**9 == Decimal(dollars)


def test_a_line_of_an_unknown_type_is_counted_once_and_flags_no_session(record):
    claude = Claude()
    claude.prompt("Go")
    for _ in range(3):
        claude.line("quantum-state", value=[1, 2])
    claude.lines.append({"type": "no-session", "value": 1})
    claude.answer("m1", text("Done"))

    (loop,) = record("claude-code", claude.lines)

    found = Anomaly.objects.filter(project=loop.session.project).order_by("id")
    assert [(each.kind, each.session) for each in found] == [("unknown_type", None)] * 2
    assert [each.text.rpartition(" ")[2] for each in found] == ["quantum-state", "no-session"]
    kept = EventRecord.objects.filter(session=loop.session, type="quantum-state", origin="kept")
    assert (kept.count(), loop.unknown) == (3, 0)


def test_an_unknown_type_with_a_message_is_an_inconsistency_of_its_session(record):
    claude = Claude()
    claude.prompt("Go")
    claude.line("quantum-state", message={"content": "lost"})

    (loop,) = record("claude-code", claude.lines)

    assert Anomaly.objects.get(session=loop.session).kind == "unknown_type"


@pytest.mark.parametrize(
    ("decision", "source", "error", "wanted"),
    [
        ("accept", "config", "", []),
        ("accept", "user_temporary", "", ["granted"]),
        ("reject", "user_reject", "The user doesn't want to proceed with this tool use. STOP", ["denied"]),
        ("reject", "hook", "Blocked by a rule of ours", ["denied"]),
    ],
)
def test_the_decision_on_a_permission_is_one_approval(record, decision, source, error, wanted):
    claude = Claude()
    claude.prompt("Go")
    claude.answer("m1", use("c1"), stop="tool_use")
    told = {"decision": decision, "source": source}
    claude.result("c1", error or "ok", error=bool(error), permissionDecision=told)
    claude.answer("m2", text("Done"))

    (loop,) = record("claude-code", claude.lines)

    assert [each.decision for each in loop.approvals.all()] == wanted
    assert (loop.errors, loop.waiting, loop.tool_calls) == (0, 0, int(not error))


@pytest.mark.parametrize(
    ("titles", "wanted"),
    [
        ([("ai-title", "aiTitle", "By the agent")], "By the agent"),
        ([("custom-title", "customTitle", "Mine"), ("ai-title", "aiTitle", "Its own")], "Mine"),
        ([("custom-title", "customTitle", "One"), ("custom-title", "customTitle", "Two")], "Two"),
        ([("custom-title", "customTitle", 7)], "Go"),
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_session_has_the_title_that_a_person_or_the_agent_gave_it(record, titles, wanted, is_first):
    claude = Claude()
    if not is_first:
        claude.prompt("Go")
    for kind, name, title in titles:
        claude.line(kind, **{name: title})
    if is_first:
        claude.prompt("Go")
    claude.answer("m1", text("Done"))

    (loop,) = record("claude-code", claude.lines)

    assert (loop.session.title, loop.title) == (wanted, "Go")


@pytest.mark.parametrize(
    ("content", "errors"),
    [
        ([{"type": "web_search_result", "url": "https://example.org"}], 0),
        ({"type": "web_search_tool_result_error", "error_code": "unavailable"}, 1),
    ],
)
@pytest.mark.parametrize("is_one_line", [True, False])
def test_a_search_that_the_provider_ran_ends_within_its_answer(record, content, errors, is_one_line):
    claude = Claude()
    claude.prompt("Search")
    call = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "weather"}}
    result = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": content}
    blocks = [call, result, text("Found")]
    for each in [blocks] if is_one_line else [[block] for block in blocks]:
        claude.answer("m1", *each)

    (loop,) = record("claude-code", claude.lines)

    assert (loop.turns, loop.tool_calls, loop.errors, loop.outcome) == (1, 1, errors, "completed")
    assert loop.tool_records.get().state == ("failed" if errors else "done")


def test_what_the_program_answers_itself_when_a_session_is_resumed_is_no_call(record):
    claude = Claude()
    claude.prompt("Go")
    claude.answer("m1", text("Done"))
    message = {"id": "e1", "model": "<synthetic>", "content": [text("No response requested.")]}
    claude.line("assistant", message=message)
    claude.prompt("More")
    claude.answer("m2", text("Done, too"))

    loops = record("claude-code", claude.lines)

    assert [(loop.turns, loop.errors, loop.outcome) for loop in loops] == [(1, 0, "completed")] * 2


def test_a_question_of_a_sub_agent_waits_until_a_person_answers(project, record):
    claude = Claude(agentId="a1", isSidechain=True)
    claude.prompt("Look")
    claude.answer("m1", use("c1", "AskUserQuestion"), stop="tool_use")
    begin(project, "claude-code", claude.lines)
    assert Session.objects.get().waiting == 1

    claude.result("c1", "Blue")
    claude.answer("m2", text("Done"))
    (loop,) = record("claude-code", claude.lines)
    assert (loop.waiting, loop.turns, loop.tool_calls, loop.outcome) == (0, 2, 1, "completed")


@pytest.mark.parametrize(("kind", "title"), [("image", "[image]"), ("document", "[file]")])
def test_a_prompt_without_words_begins_a_loop(record, kind, title):
    claude = Claude()
    claude.prompt("Go")
    claude.answer("m1", text("Done"))
    claude.prompt(
        [{"type": kind, "source": {"type": "base64", "media_type": "application/pdf", "data": "A"}}]
    )
    claude.answer("m2", text("A cat"))

    loops = record("claude-code", claude.lines)

    assert [(loop.title, loop.turns) for loop in loops] == [("Go", 1), (title, 1)]


WROTE = '<teammate-message teammate_id="lead" summary="Go">\nDo %s\n</teammate-message>'


@pytest.mark.parametrize(
    ("prompt", "title"),
    [(WROTE % "it", "Do it"), (f"{WROTE % 'a'}\n{WROTE % 'b'}", None), ("<teammate-message> no end", None)],
)
def test_what_a_teammate_wrote_is_titled_without_its_tag(record, prompt, title):
    claude = Claude()
    claude.prompt(prompt)
    claude.answer("m1", text("Done"))

    (loop,) = record("claude-code", claude.lines)

    assert loop.title == title or (title is None and loop.title.startswith("<teammate-message"))


@pytest.mark.parametrize(("stated", "written"), [(None, 3_000), (0, 3_000), (3_000, 3_000), (5_000, 5_000)])
def test_written_tokens_count_also_if_only_their_parts_are_stated(record, stated, written):
    parts = {"ephemeral_5m_input_tokens": 1_000, "ephemeral_1h_input_tokens": 2_000}
    claude = Claude()
    claude.prompt("Go")
    answered(claude, {"cache_creation": parts, "cache_creation_input_tokens": stated})

    (loop,) = record("claude-code", claude.lines)

    assert (loop.cache_write_tokens, loop.cache_write_1h_tokens) == (written, 2_000)
