"""A loop that ends and goes on, again and again: what was cut at its end goes on once."""

import dataclasses

import pytest

from recorder.core.recorder import Recorder
from recorder.core.records import ORIGIN_DERIVED, Compaction, ToolCall, Turn
from tests.support import build
from tests.support.memory_store import Play

END = build.agent_end("s.a.1")
REOPENED = build.ours("LoopReopened", "s.a.1", session_id="s", tool_call_ids=["c1"], is_compacting=True)


def feed_derived(play, event):
    play.count += 1
    line = dataclasses.replace(play.line(event), origin=ORIGIN_DERIVED)
    play.records.keep(Recorder(play.state).feed(line))


def test_what_is_cut_again_and_again_is_kept_once_and_goes_on():
    started = build.ours("CompactionStarted", estimated_tokens=1, message_count=1, timestamp=build.time(2))
    play = Play(build.agent_start(), build.turn_start(), build.tool_start(call="c1"), started)
    for _ in range(20):
        feed_derived(play, END)
        (cut,) = play.state.cut_parts.values()
        assert len(cut) == 2
        assert {play.one(ToolCall).state, play.one(Compaction).state} == {"cut"}

        feed_derived(play, REOPENED)
        assert {play.one(ToolCall).state, play.one(Compaction).state} == {"running"}
        assert not cut


def counted(play):
    """Return what the end of a turn counts, of the turn, its loop and its session."""
    turn, loop, session = play.one(Turn), play.loop(), play.session()
    of_turn = (
        turn.state,
        turn.ended_at,
        turn.errors,
        turn.error,
        turn.answer,
        turn.input_tokens,
        turn.cost_nano,
    )
    names = ("status", "turns", "tool_calls", "errors", "input_tokens", "cost_nano", "unpriced")
    return of_turn, *([getattr(record, name) for name in names] for record in (loop, session))


@pytest.mark.parametrize("error", [None, "overloaded"])
def test_the_last_turn_of_a_running_loop_goes_on(error):
    end = build.turn_end(message=build.assistant(error=error, tokens=5), tokens=5)
    tools = (build.tool_start(call="c1"), build.tool_end(call="c1", is_error=True))
    play = Play(build.agent_start(), build.turn_start(), end)
    feed_derived(play, build.ours("LoopReopened", "s.a.1", session_id="s", turn_index=0))
    assert (play.one(Turn).state, play.loop().turns, play.loop().input_tokens) == ("open", 0, 0)

    play.feed(*tools, end)

    assert counted(play) == counted(Play(build.agent_start(), build.turn_start(), *tools, end))


@pytest.mark.parametrize("index", [None, 7])
def test_another_turn_of_a_running_loop_does_not_go_on(index):
    play = Play(build.agent_start(), build.turn_start(), build.turn_end(tokens=5))
    before = counted(play)

    feed_derived(play, build.ours("LoopReopened", "s.a.1", session_id="s", turn_index=index))

    assert counted(play) == before
