"""A loop that ends and goes on, again and again: what was cut at its end goes on once."""

import dataclasses

from recorder.core.recorder import Recorder
from recorder.core.records import ORIGIN_DERIVED, Compaction, ToolCall
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
