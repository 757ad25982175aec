"""The recorder: handlers, outcomes, counts, turns, tools, streamed text, sessions."""

from typing import get_args

import pytest

from recorder.core.events import LoopEvent
from recorder.core.recorder import _RUNNING_LOOP_HANDLERS
from recorder.core.records import Compaction, EventRecord, Group, Loop, TextBlock, ToolCall, Turn
from tests.phi_core.scenarios import events, tape
from tests.support.build import (
    agent_end,
    agent_start,
    assistant,
    compaction_started,
    input_rejected,
    message_end,
    message_start,
    message_update,
    ours,
    parallel_start,
    progress,
    small_loop,
    tool_end,
    tool_start,
    turn_end,
    turn_request,
    turn_start,
    user,
)
from tests.support.memory_store import FLUSH, Play


def test_every_loop_event_has_a_handler_for_running_loops():
    assert set(_RUNNING_LOOP_HANDLERS) == {model.type for model in get_args(LoopEvent)}


@pytest.mark.parametrize(
    ("stream", "outcome", "status"),
    [
        ([turn_end()], "completed", "completed"),
        ([turn_end(message=assistant(stop="length"))], "completed", "completed"),
        ([turn_end(message=assistant(stop="error", error="401"))], "failed", "completed"),
        ([turn_end(message=assistant(stop="error", error="Cancelled"))], "cancelled", "completed"),
        ([turn_end(message=assistant(stop="aborted"))], "cancelled", "completed"),
        ([turn_end(message=assistant(stop="maxTurns"))], "limit", "completed"),
        ([turn_end(), message_end(message=user("[Agent stopped: 5 turns]"))], "limit", "completed"),
        ([turn_end(), input_rejected()], "rejected", "completed"),
        (
            [turn_end(message=assistant(stop="error", error="x")), turn_start(), turn_end()],
            "completed",
            "completed",
        ),
    ],
)
def test_the_outcome_follows_from_how_the_last_turn_stopped(stream, outcome, status):
    loop = Play(agent_start(), turn_start(), *stream, agent_end()).loop()

    assert (loop.outcome, loop.status) == (outcome, status)


def test_a_prompt_that_quotes_a_limit_note_is_not_a_limit():
    loop = Play(
        agent_start(), turn_start(), message_end(message=user("[Agent stopped: x]")), agent_end()
    ).loop()

    assert loop.outcome == "completed"


def test_a_rejected_input_ends_a_loop_as_rejected():
    loop = Play(agent_start(), input_rejected(), agent_end(rejection="blocked term")).loop()

    assert (loop.status, loop.outcome, loop.rejection) == ("rejected", "rejected", "blocked term")
    assert loop.activity == "Rejected: blocked term"


def test_an_outcome_in_the_end_event_counts():
    loop = Play(agent_start(), turn_start(), turn_end(), agent_end(outcome="failed", error="no disk")).loop()

    assert (loop.outcome, loop.error) == ("failed", "no disk")


def test_the_outcome_without_turns_is_that_of_the_last_answer():
    loop = Play(agent_start(), agent_end(messages=[user(), assistant(stop="error", error="x")])).loop()

    assert loop.outcome == "failed"


def test_scenario_08_has_all_failures():
    play = Play(*events(tape("08")), FLUSH)

    assert [loop.outcome for loop in play.of(Loop)] == [
        "rejected",
        "completed",
        "rejected",
        "failed",
        "failed",
        "completed",
        "completed",
    ]
    assert play.anomalies() == ["orphan"]


def test_scenario_10_is_cancelled_without_errors():
    play = Play(*events(tape("10")), FLUSH)

    assert [(loop.outcome, loop.errors) for loop in play.of(Loop)] == [("cancelled", 0)]


def test_usage_is_the_sum_of_turns_until_the_end_reports_a_total():
    play = Play(agent_start(), turn_start(), turn_end(tokens=3), turn_start(index=1), turn_end(tokens=4))
    assert (play.loop().input_tokens, play.session().input_tokens) == (7, 7)

    play.feed(agent_end(tokens=9))

    assert (play.loop().input_tokens, play.session().input_tokens) == (9, 9)


def test_errors_are_failed_tools_and_turns_but_not_denied_tools():
    play = Play(
        agent_start(),
        turn_start(),
        tool_start(call="c1"),
        tool_end(call="c1", is_error=True),
        tool_end(call="denied", is_error=True),
        turn_end(message=assistant(stop="error", error="overloaded")),
    )

    assert (play.loop().errors, play.loop().tool_calls) == (2, 1)
    assert play.one(Turn).tool_errors == 1
    assert [tool.start_event for tool in play.of(ToolCall)] == [4 - 1, None]


def test_a_tool_call_has_its_turn_times_and_summary():
    play = Play(
        agent_start(),
        turn_start(),
        tool_start(args={"command": "cargo\n test"}, timestamp="2026-02-11T09:00:01Z"),
        progress(text="50 %"),
        tool_end(timestamp="2026-02-11T09:00:03.5Z"),
    )

    tool = play.one(ToolCall)
    assert (tool.turn, tool.state, tool.summary) == (play.one(Turn), "done", "cargo test")
    assert (tool.duration_ms, tool.times_received, tool.progress) == (2500, False, "50 %")


def test_open_turns_tools_and_compactions_are_cut_when_the_loop_ends():
    play = Play(agent_start(), turn_start(), tool_start(), compaction_started(), agent_end())

    states = [play.one(kind).state for kind in (Turn, ToolCall, Compaction)]
    assert states == ["cut", "cut", "cut"]


def test_a_repeated_turn_start_cuts_the_open_turn_and_reuses_its_index():
    play = Play(agent_start(), turn_start(), turn_start(), turn_request(), turn_end())

    assert [(t.ordinal, t.turn_index, t.state) for t in play.of(Turn)] == [(0, 0, "cut"), (1, 0, "done")]
    assert play.of(Turn)[1].request_event == 4
    assert play.loop().turns == 1


def test_streamed_text_is_stored_in_blocks_until_the_message_ends():
    play = Play(agent_start(), turn_start(), message_start(), message_update(text="h", kind="Thinking"))
    play.feed(message_update(text="a" * 1_999), message_update(text="b" * 2_002))

    assert [(block.kind, len(block.text), block.part) for block in play.of(TextBlock)] == [
        ("thinking", 1, 0),
        ("text", 2_000, 1),
        ("text", 2_000, 2),
        ("text", 1, 3),
    ]
    assert play.loop().activity == "Writing"

    play.feed(message_end())

    assert play.of(TextBlock) == []


@pytest.mark.parametrize("event", [message_start(), turn_end()])
def test_streamed_text_is_removed_when_the_next_message_or_turn_end_arrives(event):
    assert Play(agent_start(), turn_start(), message_update(), event).of(TextBlock) == []


@pytest.mark.parametrize("event", [agent_end(), FLUSH])
def test_the_streamed_text_of_an_unfinished_message_stays(event):
    assert Play(agent_start(), turn_start(), message_update(text="half"), event).one(TextBlock).text == "half"


@pytest.mark.parametrize(
    "branches",
    [
        [],
        [agent_start("s.a.1")],
        [agent_start("s.a.1"), agent_end("s.a.1", at=7)],
        [agent_start("s.a.1"), agent_end("s.a.1"), agent_start("s.b.2"), agent_end("s.b.2")],
    ],
)
def test_a_group_without_an_end_is_aborted_at_the_end_of_its_stream(branches):
    group = Play(parallel_start("s.a.1", "s.b.2"), *branches, FLUSH).one(Group)

    assert (group.status, group.selected_loop_id or None) == ("aborted", None)
    assert group.ended_at is not None


def test_a_group_in_which_another_producer_runs_is_not_aborted():
    play = Play(parallel_start("s.a.1", "s.b.2"), agent_start("s.a.1"), agent_end("s.a.1"))
    play.feed(agent_start("s.b.2"), producer=2)
    play.feed(FLUSH)

    assert play.one(Group).status == "running"


def test_text_that_a_column_cannot_store_is_replaced():
    play = Play(
        agent_start(),
        turn_start(),
        message_update(text="a\x00\ud800"),
        tool_start(name="\x00", args="\udfff"),
        input_rejected(reason="\x00"),
    )

    assert play.one(TextBlock).text == "a\ufffd\ufffd"
    assert (play.one(ToolCall).tool_name, play.one(ToolCall).summary) == ("\ufffd", "\ufffd")
    assert play.loop().error == "\ufffd"


def test_every_line_has_an_event_record_with_phi_cores_sequence():
    play = Play(*small_loop())

    records = play.of(EventRecord)
    assert [record.sequence for record in records] == [0, 1, 2, 3, 4, None, 5, 6, 7]
    assert [record.turn is None for record in records] == [True, *[False] * 7, True]
    assert play.loop().events == play.session().events == len(records)


def test_a_session_has_the_figures_of_its_list_row():
    play = Play(*small_loop(tokens=5, text="All tests pass."))

    session = play.session()
    assert (session.title, session.status, session.outcome) == ("Fix the parser.", "completed", "completed")
    assert (session.loops, session.open_loops, session.turns, session.input_tokens) == (1, 0, 1, 5)
    assert session.activity == "All tests pass."
    assert session.ended_at == play.loop().ended_at


def test_a_session_runs_while_any_loop_runs_and_ends_as_its_head():
    play = Play(agent_start("s.a.1"), agent_start("s.a.2", parent="s.a.1"), agent_end("s.a.1"))
    assert (play.session().status, play.session().ended_at) == ("running", None)

    play.feed(agent_end("s.a.2", outcome="failed"))

    assert (play.session().status, play.session().outcome) == ("completed", "failed")


@pytest.mark.parametrize(
    ("events", "number"),
    [
        ([agent_start(title="Given"), turn_start(), message_end(message=user())], 1),
        (
            [
                agent_start(),
                turn_start(),
                message_end(),
                message_end(message=user("")),
                *[message_end(message=user())] * 2,
            ],
            5,
        ),
        ([agent_start(), agent_end(messages=[user()])], 2),
        ([agent_start(), agent_end()], None),
    ],
)
def test_a_loop_has_the_event_that_set_its_title(events, number):
    assert Play(*events).loop().title_event == number


def test_an_explicit_title_is_not_replaced():
    play = Play(ours("SessionInfo", None, session_id="s", title="Release"), *small_loop())

    assert (play.session().title, play.session().title_given) == ("Release", True)
    assert play.session().created_at == play.loop().started_at
