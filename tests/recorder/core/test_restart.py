"""Restart invariant: a recorder whose state is loaded from records continues as the former one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.phi_core.scenarios import TAPES, events
from tests.support import build
from tests.support.memory_store import FLUSH, Play

LOOPS = st.sampled_from(["s.a.1", "s.b.2", "t.a.1", "u", "v.x.1"])
SESSIONS = st.sampled_from(["s", "t"])
CALLS = st.sampled_from(["c1", "c2"])
KINDS = st.sampled_from(["Initial", "Default", "Compaction", {"Branch": {"tag": "x"}}])
# A loop may be answered by several models, by another provider of its model, or by one that nobody names.
ANSWERS = st.builds(
    build.assistant,
    model=st.sampled_from(["claude-haiku-4-5", "claude-haiku-4-5-20251001", "gpt-5", ""]),
    provider=st.sampled_from(["anthropic", "bedrock", ""]),
)
OURS = st.one_of(
    st.builds(build.ours, st.just("ApprovalRequested"), LOOPS, tool_call_id=CALLS),
    st.builds(build.ours, st.just("ApprovalResolved"), LOOPS, decision=st.just("granted")),
    st.builds(build.ours, st.just("ErrorRaised"), LOOPS, scope=st.just("turn"), message=st.just("no")),
    st.builds(build.ours, st.just("SessionInfo"), st.none() | LOOPS, session_id=SESSIONS, title=st.just("T")),
    st.builds(build.ours, st.just("UsageSnapshot"), LOOPS, scope=st.just("loop"), context_length=st.just(7)),
    st.builds(build.ours, st.just("AgentSwitched"), LOOPS, to=st.sampled_from(["other", "agent-a"])),
    st.builds(build.ours, st.just("Newer"), LOOPS),
    st.builds(
        build.ours,
        st.just("SubAgentLinked"),
        st.none(),
        parent_loop_id=LOOPS,
        child_session_id=SESSIONS,
        child_loop_id=st.none() | LOOPS,
    ),
)
EVENTS = st.one_of(
    st.builds(build.agent_start, LOOPS, session=SESSIONS, parent=st.none() | LOOPS, kind=KINDS),
    st.builds(build.agent_end, LOOPS, tokens=st.integers(0, 9)),
    st.builds(build.turn_start, LOOPS),
    st.builds(build.turn_end, LOOPS, tokens=st.integers(0, 9), message=st.none() | ANSWERS),
    st.builds(build.message_start, LOOPS),
    st.builds(build.message_update, LOOPS, kind=st.sampled_from(["Text", "Thinking"])),
    st.builds(build.message_end, LOOPS, message=st.sampled_from([build.user(), build.assistant()])),
    st.builds(build.tool_start, LOOPS, call=CALLS),
    st.builds(build.tool_end, LOOPS, call=CALLS, child=st.none() | LOOPS, is_error=st.booleans()),
    st.builds(build.progress, LOOPS, call=CALLS),
    st.builds(build.input_rejected, LOOPS),
    st.builds(build.parallel_start, LOOPS, LOOPS, session=SESSIONS),
    st.builds(build.parallel_end, LOOPS, session=SESSIONS),
    st.builds(build.compaction_started, LOOPS),
    st.builds(build.compaction_ended, LOOPS),
    st.just(FLUSH),
    OURS,
)
STREAMS = st.lists(st.tuples(EVENTS, st.sampled_from([1, 2])), max_size=40)


HAND_OFFS = st.lists(
    st.one_of(
        st.builds(build.turn_start, st.just("s.a.1")),
        st.builds(build.turn_end, st.just("s.a.1"), tokens=st.integers(1, 9), message=ANSWERS),
        st.builds(
            build.ours, st.just("AgentSwitched"), st.just("s.a.1"), to=st.sampled_from(["other", "agent-a"])
        ),
    ),
    max_size=20,
)


def whole(stream):
    play = Play()
    for event, producer in stream:
        play.feed(event, producer=producer)
    return play.records.plain()


@settings(max_examples=100)
@given(stream=STREAMS, cut=st.integers(0, 40))
def test_a_restarted_recorder_gives_the_same_records(stream, cut):
    play = Play()
    for n, (event, producer) in enumerate(stream):
        if n == cut:
            play.restart()
        play.feed(event, producer=producer)

    assert play.records.plain() == whole(stream)


@settings(max_examples=60)
@given(events=HAND_OFFS)
def test_hand_offs_restarted_before_every_line_give_the_same_records(events):
    stream = [(event, 1) for event in [build.agent_start("s.a.1"), *events, build.agent_end("s.a.1")]]
    play = Play()
    for event, producer in stream:
        play.restart(event, producer)
        play.feed(event, producer=producer)

    assert play.records.plain() == whole(stream)


@settings(max_examples=60)
@given(stream=STREAMS)
def test_state_keys_declare_all_ids_that_the_next_line_needs(stream):
    play = Play()
    for event, producer in stream:
        play.restart(event, producer)
        play.feed(event, producer=producer)

    assert play.records.plain() == whole(stream)


@pytest.mark.parametrize("tape", TAPES, ids=lambda tape: tape.name[:2])
def test_a_tape_gives_the_same_records_restarted_before_every_tenth_line(tape):
    play = Play()
    for n, event in enumerate(events(tape)):
        if n % 10 == 0:
            play.restart(event)
        elif n % 10 == 1:
            play.restart()
        play.feed(event)

    assert play.records.plain() == whole([(event, 1) for event in events(tape)])
