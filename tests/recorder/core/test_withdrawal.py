"""Loops that consecutive events withdraw: the same records as one by one, and work in proportion to them."""

from dataclasses import fields, replace
from itertools import permutations

import pytest

from recorder.core.recorder import Recorder
from recorder.core.records import ORIGIN_DERIVED, ChildRef, Group, Loop
from tests.support.build import agent_end, agent_start, ours, parallel_start, small_loop
from tests.support.count_calls import count_lines
from tests.support.memory_store import Play


def withdrawn(loop_id, *, is_gone=True, sub_agents=0):
    more = {"session_id": "s", "is_gone": is_gone, "sub_agents": sub_agents}
    return ours("LoopWithdrawn", loop_id, **more)


def feed_derived(play, *events):
    """Feed events as lines of one transaction that our readers made."""
    lines = [replace(play.line(event), origin=ORIGIN_DERIVED) for event in events]
    play.records.keep(
        change for change in Recorder(play.state).feed(*lines) if type(change).__name__ != "LoopCleared"
    )


def link(parent, child):
    named = {"child_session_id": "s", "child_loop_id": child}
    return ours(
        "SubAgentLinked", None, parent_loop_id=parent, tool_call_id=f"t {child}", tool_name="Task", **named
    )


def with_sub_agents(number):
    """Return a recording of a main loop, and of pairs of a loop that it calls and one that this calls."""
    play = Play(agent_start("s.main"))
    for at in range(number):
        top, below = f"s.a{at:03}", f"s.b{at:03}"
        play.feed(agent_start(top, at=at), agent_start(below, at=at + 0.5, parent=top, is_sub_agent=True))
        play.feed(
            link("s.main", top), link(top, below), agent_end(below, at=at + 0.7), agent_end(top, at=at + 1)
        )
    return play


def work(number, *, backwards):
    play = with_sub_agents(number)
    gone = sorted((f"s.{name}{at:03}" for at in range(number) for name in "ab"), reverse=backwards)
    lines = count_lines(feed_derived, play, *(withdrawn(loop_id) for loop_id in gone))
    assert [loop.loop_id for runs in play.state.runs.values() for loop in runs] == ["s.main"]
    return lines


@pytest.mark.parametrize("backwards", [False, True])
def test_removing_twice_the_loops_takes_twice_the_work(backwards):
    assert work(80, backwards=backwards) <= 2.5 * work(40, backwards=backwards)


def work_among_others(number):
    """Return the work of withdrawing loops, each followed by the start of another one."""
    play = with_sub_agents(number)
    ids = [f"{name}{at:03}" for at in range(number) for name in "ab"]
    pairs = [(withdrawn(f"s.{each}", is_gone=False), agent_start(f"s.n{each}", at=1)) for each in ids]
    return count_lines(feed_derived, play, *(event for pair in pairs for event in pair))


def test_twice_the_loops_withdrawn_among_other_events_take_twice_the_work():
    assert work_among_others(80) <= 2.3 * work_among_others(40)


def name(loop):
    return loop and loop.loop_id


def refs_of(play):
    """Return the links of loops that were not withdrawn; the store deletes those of the others."""
    loops = [loop for loop in play.of(Loop) if loop.status != "pending"]
    return [ref for ref in play.of(ChildRef) if ref.loop in loops]


def shown(play):
    """Return the loops and the session of a recording with what refers to them, by their ids."""
    loops = [(loop.loop_id, loop.status, loop.title, name(loop.parent)) for loop in play.of(Loop)]
    session, state = play.session(), play.state
    return (
        sorted(loops),
        {each.name: getattr(session, each.name) for each in fields(session) if each.name != "head"},
        name(session.head),
        sorted((ref.loop.loop_id, ref.child_loop_id, name(ref.child) or "") for ref in refs_of(play)),
        {key: sorted(ref.tool_call_id for ref in refs) for key, refs in state.unlinked_refs.items() if refs},
        {key: sorted(map(name, each)) for (_, key), each in state.loops_awaiting_parent.items() if each},
    )


EVENTS = (
    withdrawn("s.a000"),
    withdrawn("s.b000"),
    withdrawn("s.a001", is_gone=False, sub_agents=1),
    withdrawn("s.b002"),
)


@pytest.mark.parametrize("order", [*permutations(range(len(EVENTS)))])
def test_loops_withdrawn_at_once_leave_what_they_leave_one_by_one(order):
    at_once, one_by_one = with_sub_agents(3), with_sub_agents(3)
    again = agent_start("s.a001", at=9), link("s.main", "s.a001"), link("s.a002", "s.b001")
    feed_derived(at_once, *(EVENTS[at] for at in order), *again)
    for event in (*(EVENTS[at] for at in order), *again):
        feed_derived(one_by_one, event)

    assert shown(at_once) == shown(one_by_one)
    assert {loop.loop_id for loop in at_once.of(Loop)} == {"s.main", "s.a001", "s.b001", "s.a002"}
    assert all(ref.child is None or ref.child in at_once.of(Loop) for ref in refs_of(at_once))


@pytest.mark.parametrize("is_gone", [True, False])
def test_a_group_forgets_its_judge_with_the_loop(is_gone):
    play = Play(parallel_start("s.a.1", "s.b.2"), *small_loop("s.judge", text="Branch 1 is better."))
    group = play.one(Group)
    assert (group.judge, group.named) == (play.loop("s.judge"), [1])

    feed_derived(play, withdrawn("s.judge", is_gone=is_gone))
    assert (group.judge, group.named) == (None, [])

    feed_derived(play, agent_start("s.judge"))  # recorded again, it judges again
    assert (group.judge, group.judge.role) == (play.loop("s.judge"), "judge")
