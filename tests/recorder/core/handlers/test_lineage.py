"""Relations of loops: groups, runs, orphans, parents and sub-agents."""

from dataclasses import replace

import pytest

from recorder.core.recorder import Recorder
from recorder.core.records import (
    ORIGIN_DERIVED,
    Anomaly,
    ChildRef,
    Compaction,
    EventRecord,
    Group,
    Loop,
    Session,
    Turn,
)
from tests.phi_core.scenarios import events, tape
from tests.support.build import (
    agent_end,
    agent_start,
    compaction_ended,
    compaction_started,
    ours,
    parallel_end,
    parallel_start,
    small_loop,
    tool_end,
    tool_start,
    turn_end,
    turn_start,
)
from tests.support.memory_store import FLUSH, Play


def test_a_parallel_group_has_branches_a_judge_and_a_winner():
    play = Play(
        parallel_start("s.a.1", "s.b.2"),
        *small_loop("s.a.1"),
        *small_loop("s.b.2"),
        *small_loop("judge", session="s"),
        parallel_end("s.b.2", index=1, tokens=3),
        *small_loop("s.c.1"),
    )

    group = play.one(Group)
    assert [(loop.role, loop.branch_index, loop.is_selected) for loop in play.of(Loop)] == [
        ("branch", 0, False),
        ("branch", 1, True),
        ("judge", None, None),
        ("normal", None, None),
    ]
    assert (group.judge, group.status, group.selected_config_index) == (play.loop("judge"), "completed", 1)
    assert (group.input_tokens, play.session().groups) == (3, 1)


def test_a_group_whose_branch_is_cut_off_is_aborted():
    play = Play(parallel_start("s.a.1", "s.b.2"), agent_start("s.a.1"), FLUSH)

    assert (play.one(Group).status, play.of(Loop)[0].is_selected) == ("aborted", None)


def test_a_group_that_ends_twice_keeps_its_first_winner():
    play = Play(parallel_start(), *small_loop("s.a.1"), *small_loop("s.b.2"), parallel_end("s.a.1"))

    play.feed(parallel_end("s.b.2", index=1))

    assert play.one(Group).selected_loop_id == "s.a.1"
    assert play.anomalies() == ["duplicate_end"]


def test_a_group_without_a_start_has_one_branch():
    play = Play(*small_loop(), parallel_end("s.a.1"))

    assert play.one(Group).loop_ids == ["s.a.1"]
    assert play.anomalies() == ["unknown_group"]


def test_a_start_while_the_loop_runs_aborts_the_run_and_starts_another():
    play = Play(agent_start(), turn_start(), agent_start(at=5))

    assert [(loop.run, loop.status) for loop in play.of(Loop)] == [(1, "aborted"), (2, "running")]
    assert play.anomalies() == ["duplicate_start"]


def test_two_producers_with_one_loop_id_each_have_their_run():
    play = Play(agent_start(), producer=1).feed(agent_start(), turn_start(), producer=2)

    play.feed(agent_end(tokens=1), producer=1).feed(turn_end(), agent_end(tokens=2), producer=2)

    assert [(loop.run, loop.input_tokens, loop.turns) for loop in play.of(Loop)] == [(1, 1, 0), (2, 2, 1)]


def test_events_of_a_loop_that_never_started_wait_and_are_adopted():
    play = Play(turn_start(), turn_end())
    assert [record.session for record in play.of(EventRecord)] == [None, None]
    assert play.anomalies() == ["orphan"]

    play.feed(agent_start())

    assert [record.loop for record in play.of(EventRecord)] == [play.loop()] * 3
    assert [record.late for record in play.of(EventRecord)] == [True, True, False]
    assert play.of(Turn) == []


def test_events_of_an_unknown_loop_are_shown_with_the_session_that_its_id_begins_with():
    play = Play(agent_start("s.a.1"), turn_start("s.b.1"))
    session = play.one(Session)
    assert (play.of(EventRecord)[-1].session, session.events) == (session, 2)
    assert play.one(Anomaly).session is session

    play.feed(agent_start("s.b.1", session="t"))

    assert [(session.session_id, session.events) for session in play.of(Session)] == [("s", 1), ("t", 2)]
    assert play.of(EventRecord)[1].loop is play.of(Loop)[-1]


def test_late_events_are_recorded_flagged_once_and_change_nothing():
    play = Play(*small_loop(tokens=5), turn_start(), turn_end(tokens=7), agent_end(tokens=8))

    loop = play.loop()
    assert (loop.input_tokens, loop.turns, loop.late, loop.events) == (5, 1, 3, 12)
    assert play.anomalies() == ["late"]


def test_a_compaction_has_the_counts_that_the_runtime_reports():
    play = Play(agent_start(), compaction_started(), compaction_ended(summary="Short."))

    (made,) = play.of(Compaction)
    assert (made.messages_before, made.messages_after, made.tokens_before, made.tokens_after) == (
        9,
        7,
        5000,
        400,
    )
    assert (made.state, made.content, made.summary) == ("done", "summary", "Short.")


def test_a_compaction_loop_is_a_child_of_the_run_it_compacted_and_the_next_loop_too():
    play = Play(*events(tape("06")), FLUSH)

    first, compaction, last = play.of(Loop)
    assert (compaction.role, compaction.run, compaction.parent) == ("compaction", 2, first)
    assert (last.role, last.parent) == ("normal", first)


def test_parents_of_loops_never_form_a_cycle():
    play = Play(agent_start("s.a.1", parent="s.a.3"), agent_start("s.a.2", parent="s.a.1"))

    play.feed(agent_start("s.a.3", parent="s.a.2"))

    parents = {loop.loop_id: loop.parent and loop.parent.loop_id for loop in play.of(Loop)}
    assert parents == {"s.a.1": None, "s.a.2": "s.a.1", "s.a.3": "s.a.2"}


def test_spawns_of_sessions_never_form_a_cycle():
    play = Play(agent_start("s.a.1", parent="t.a.1"), agent_start("t.a.1", parent="s.a.1"))

    assert [session.parent and session.parent.loop_id for session in play.of(Session)] == [None, "s.a.1"]


def test_a_child_that_is_never_recorded_leaves_a_reference():
    play = Play(agent_start(), tool_start(name="researcher"), tool_end(name="researcher", child="gone.sub.1"))

    ref = play.one(ChildRef)
    assert (ref.child, ref.child_session_id, ref.tool_name) == (None, "gone", "researcher")


def test_a_stated_link_is_made_from_either_side():
    link = ours(
        "SubAgentLinked",
        None,
        parent_session_id="s",
        parent_loop_id="s.a.1",
        tool_call_id="c1",
        child_session_id="t",
        certainty="inferred",
    )
    parent_first = Play(agent_start("s.a.1"), link, agent_start("t.a.1"))
    child_first = Play(agent_start("t.a.1"), link, agent_start("s.a.1"))

    for play in (parent_first, child_first):
        assert play.session("t").parent is play.loop("s.a.1")
        assert play.session("t").spawn_tool_call_id == "c1"
    assert parent_first.one(ChildRef).certainty == "inferred"
    assert parent_first.one(ChildRef).child is parent_first.loop("t.a.1")


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (0, 2, 1)])
def test_a_sub_agent_that_names_its_call_is_linked_once_in_any_order(order):
    spawned = {"spawned_by": {"tool_call_id": "t1", "tool_name": "Agent"}}
    child = agent_start("s.child", parent="s.a.1", is_sub_agent=True, metadata=spawned, at=2)
    link = ours("SubAgentLinked", None, parent_loop_id="s.a.1", tool_call_id="t1", tool_name="Task")
    link |= {"child_session_id": "s", "child_loop_id": "s.child"}
    events = [agent_start("s.a.1"), child, link]
    play = Play(*[events[at] for at in order])

    ref = play.one(ChildRef)
    assert (ref.loop, ref.child, ref.tool_name) == (play.loop("s.a.1"), play.loop("s.child"), "Task")
    assert (play.loop("s.child").parent, play.session().sub_agents) == (play.loop("s.a.1"), 1)
    assert play.anomalies() == []


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 1, 3), (0, 2, 3, 1), (2, 3, 0, 1), (2, 0, 1, 3)])
def test_a_call_that_names_the_common_id_of_several_sub_agents_is_linked_to_each(order):
    named = {"parent": "s.run", "is_sub_agent": True, "metadata": {"spawned_by": {"run": "s.run"}}}
    first, second = (agent_start(f"s.{name}", at=2, **named) for name in "xy")
    link = ours("SubAgentLinked", None, parent_loop_id="s.a.1", tool_call_id="t1", tool_name="Workflow")
    link |= {"child_session_id": "s", "child_loop_id": "s.run"}
    events = [agent_start("s.a.1"), link, first, second]
    play = Play(*[events[at] for at in order]).feed(link)

    caller = play.loop("s.a.1")
    assert {(ref.tool_call_id, ref.loop, ref.child) for ref in play.of(ChildRef)} == {
        ("t1", caller, play.loop("s.x")),
        ("t1", caller, play.loop("s.y")),
    }
    assert [play.loop(f"s.{name}").parent for name in "xy"] == [caller] * 2
    assert (len(play.of(ChildRef)), play.session().sub_agents, play.anomalies()) == (2, 2, [])

    for agent in (first, second):  # withdrawn, and recorded again
        withdrawn = play.line(ours("LoopWithdrawn", agent["loop_id"], session_id="s"), number=90)
        Recorder(play.state).feed(replace(withdrawn, origin=ORIGIN_DERIVED))
        play.feed(agent)
    assert [play.loop(f"s.{name}").parent for name in "xy"] == [caller] * 2
    assert (len(play.of(ChildRef)), play.session().sub_agents) == (2, 2)


def test_what_is_linked_to_a_removed_loop_is_linked_to_the_one_that_takes_its_place():
    child = agent_start("s.child", at=1, parent="s.unknown", is_sub_agent=True)
    spawned = agent_start("other.a.1", session="other", at=1)
    play = Play(agent_start("s.old"), child, spawned)
    play.feed(*(link_from("s.old", name, of) for name, of in (("s.child", "s"), ("other.a.1", "other"))))
    above = agent_start("s.top", at=2)
    play.feed(above, link_from("s.top", "s.old", "s"))
    old, (ref,) = play.loop("s.old"), (each for each in play.of(ChildRef) if each.child_loop_id == "s.old")
    assert (play.loop("s.child").parent, play.session("other").parent, ref.child) == (old, old, old)

    gone = play.line(ours("LoopWithdrawn", "s.old", session_id="s", is_gone=True, sub_agents=2), number=90)
    Recorder(play.state).feed(replace(gone, origin=ORIGIN_DERIVED))
    assert (play.loop("s.child").parent, play.session("other").parent, ref.child) == (None, None, None)

    play.feed(agent_start("s.new", at=3), link_from("s.new", "s.child", "s"), agent_start("s.old", at=4))
    assert play.loop("s.child").parent is play.loop("s.new")
    (again,) = (each for each in play.of(Loop) if each.loop_id == "s.old" and each is not old)
    assert (play.session("other").parent, ref.child) == (again, again)


def link_from(parent, child, session):
    """Return the link from a call of a loop to the loop that it started."""
    link = ours("SubAgentLinked", None, parent_loop_id=parent, tool_call_id=f"t {child}", tool_name="Task")
    return link | {"child_session_id": session, "child_loop_id": child}


@pytest.mark.parametrize("call", [None, 7, {}, {"tool_call_id": ""}, {"tool_call_id": ["t1"]}])
def test_metadata_that_name_no_call_link_nothing(call):
    child = agent_start("s.child", parent="s.a.1", is_sub_agent=True, metadata={"spawned_by": call})

    assert Play(agent_start("s.a.1"), child).of(ChildRef) == []
