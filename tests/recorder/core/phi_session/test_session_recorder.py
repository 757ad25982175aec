"""The in-memory SessionRecorder, which has the interface of phi-core's."""

import pytest

from recorder.core.formats import InvalidLineError
from tests.phi_core import forest
from tests.phi_core.session_recorder import SessionRecorder
from tests.support.build import (
    agent_end,
    agent_start,
    line,
    message_end,
    message_update,
    parallel_end,
    parallel_start,
    small_loop,
    tool_end,
    tool_result,
    turn_end,
    turn_start,
    user,
)


def recorded(*events, flush=True, **options):
    recorder = SessionRecorder(**options)
    for event in events:
        recorder.on_event(event)
    if flush:
        recorder.flush()
    return recorder


def only(recorder):
    (session,) = recorder.sessions()
    return session


def test_a_line_may_come_as_bytes_text_or_an_object():
    recorder = SessionRecorder()
    recorder.on_event(line(agent_start()))
    recorder.on_event(line(turn_start()).decode())
    recorder.on_event(agent_end())

    assert only(recorder)["loops"][0]["status"] == "Completed"


def test_a_malformed_line_raises_and_changes_nothing():
    recorder = SessionRecorder()

    with pytest.raises(InvalidLineError):
        recorder.on_event(b"{")

    assert recorder.sessions() == recorder.records == []


def test_one_loop_gives_one_session_with_its_messages_and_turn():
    loop = only(recorded(*small_loop()))["loops"][0]

    assert [message["role"] for message in loop["messages"]] == ["user", "assistant"]
    (turn,) = loop["turns"]
    assert (turn["turn_id"], turn["triggered_by"]) == ({"loopId": "s.a.1", "turnIndex": 0}, "User")
    assert turn["input_messages"] == [user()]


def test_a_continuation_is_linked_both_ways_and_is_not_a_root():
    session = only(recorded(*small_loop("s.a.1"), *small_loop("s.a.2", parent="s.a.1", kind="Default")))

    assert [loop["loop_id"] for loop in forest.root_loops(session)] == ["s.a.1"]
    assert [loop["loop_id"] for loop in forest.children_of(session, "s.a.1")] == ["s.a.2"]
    assert [loop["loop_id"] for loop in forest.loop_chain_to(session, "s.a.2")] == ["s.a.1", "s.a.2"]
    assert session["loops"][0]["children_loop_ids"] == ["s.a.2"]


def test_the_chain_to_a_loop_ends_at_a_cycle():
    session = only(recorded(*small_loop("s.a.1", parent="s.a.2"), *small_loop("s.a.2", parent="s.a.1")))

    assert [loop["loop_id"] for loop in forest.loop_chain_to(session, "s.a.2")] == ["s.a.1", "s.a.2"]


def test_a_parallel_group_is_on_all_branches_and_one_is_selected():
    session = only(
        recorded(parallel_start(), *small_loop("s.a.1"), *small_loop("s.b.2"), parallel_end("s.b.2", index=1))
    )

    assert [loop["parallel_group"]["is_selected"] for loop in session["loops"]] == [False, True]
    assert [loop["loop_id"] for loop in forest.parallel_siblings(session, "s.a.1")] == ["s.b.2"]


def test_streaming_events_are_exported_only_with_the_option():
    stream = [agent_start(), message_update(), agent_end()]

    off, on = (only(recorded(*stream, include_streaming_events=option)) for option in (False, True))

    assert [event["event"]["type"] for event in off["loops"][0]["events"]] == ["AgentStart", "AgentEnd"]
    assert [event["sequence"] for event in on["loops"][0]["events"]] == [0, 1, 2]


def test_a_rerun_has_its_tag():
    session = only(recorded(agent_start("s.a.2", kind={"Rerun": {"tag": "2026-01-01T00:00:00+00:00"}})))

    assert session["loops"][0]["continuation_kind"] == {"Rerun": {"tag": "2026-01-01T00:00:00+00:00"}}


def test_a_loop_is_current_until_it_ends():
    recorder = recorded(agent_start(), turn_start(), flush=False)
    assert recorder.current_loop("s.a.1")["status"] == "Running"

    recorder.on_event(agent_end())

    assert recorder.current_loop("s.a.1") is None
    assert recorder.current_loop("unknown") is None


def test_a_flush_aborts_running_loops_and_drops_open_turns():
    loop = only(recorded(agent_start(), turn_start(), turn_end(tokens=5), turn_start(index=1)))["loops"][0]

    assert (loop["status"], len(loop["turns"]), loop["usage"]["input"]) == ("Aborted", 1, 0)


def test_tool_results_and_answers_carry_their_turn():
    turn = only(recorded(agent_start(), turn_start(), turn_end(results=[tool_result()]), agent_end()))[
        "loops"
    ][0]["turns"][0]

    assert turn["tool_results"] == [{**tool_result(), "turnId": {"loopId": "s.a.1", "turnIndex": 0}}]


@pytest.mark.parametrize(
    ("child", "session_id"), [("t.sub.1", "t"), ("nodots", "nodots"), ("one.dot", "one"), ("a.b.c.d", "a")]
)
def test_a_childs_session_id_is_the_start_of_its_loop_id(child, session_id):
    loop = only(recorded(agent_start(), tool_end(child=child), agent_end()))["loops"][0]

    assert [ref["child_session_id"] for ref in loop["child_loop_refs"]] == [session_id]
    assert loop["children_loop_ids"] == []


def test_a_checkpoint_completes_idle_sessions_and_a_drain_returns_them_once():
    recorder = recorded(*small_loop("s.a.1"), agent_start("t.a.1"), flush=False)
    assert recorder.checkpoint() == 1
    assert recorder.checkpoint() == 0

    assert [session["session_id"] for session in recorder.drain_completed()] == ["s"]

    assert recorder.drain_completed() == []
    assert [session["session_id"] for session in recorder.sessions()] == ["t"]
    assert recorder.get_session("s")["session_id"] == "s"
    assert recorder.get_session("unknown") is None


def test_a_link_reaches_a_drained_session():
    recorder = recorded(agent_start("s.a.1"), *small_loop("t.sub.1"), flush=False)
    recorder.checkpoint()
    recorder.drain_completed()

    recorder.on_event(tool_end(child="t.sub.1"))

    assert recorder.get_session("t")["parent_spawn_ref"]["tool_call_id"] == "c1"


def test_before_task_is_called_for_new_sessions_only():
    calls = []
    recorded(*small_loop("s.a.1"), *small_loop("s.a.2"), before_task=lambda s: calls.append(s["loops"]))

    assert calls == [[]]


def test_an_adopted_orphan_is_an_event_of_its_loop():
    loop = only(recorded(message_end(), agent_start(), agent_end()))["loops"][0]

    assert [event["event"]["type"] for event in loop["events"]] == ["MessageEnd", "AgentStart", "AgentEnd"]
