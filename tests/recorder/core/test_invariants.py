"""Rules of records: configs, approvals, unknown events, interleaved producers, clock skew, sums."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recorder.core.records import Approval, EventRecord, Loop, ModelConfig, Session, TextBlock, ToolCall, Turn
from tests.phi_core.scenarios import TAPES, events
from tests.support.build import (
    NINE,
    agent_end,
    agent_start,
    assistant,
    message_update,
    ours,
    small_loop,
    tool_end,
    tool_start,
    turn_end,
    turn_start,
    usage,
)
from tests.support.memory_store import FLUSH, Play


def test_a_missing_config_is_inferred_and_equal_configs_are_one_record():
    play = Play(*small_loop("s.a.1"), *small_loop("s.a.2"))

    config = play.one(ModelConfig)
    assert (config.model, config.config_id, config.slot) == ("claude-sonnet-4-6", "a", 1)
    assert all(loop.config is config and loop.config_inferred for loop in play.of(Loop))


def test_the_context_size_adds_cached_tokens_by_the_beside_convention():
    snapshot = {"model": "m", "provider": "anthropic", "api": "anthropic_messages"}
    end = {**turn_end(message=assistant(model="m")), "usage": usage(10, cache_read=5)}
    assert Play(agent_start(config_snapshot=snapshot), turn_start(), end).loop().context_tokens == 15

    snapshot = {"model": "m", "provider": "openai", "api": "open_ai_responses"}
    end = {**turn_end(message=assistant(model="m", provider="openai")), "usage": usage(10, cache_read=5)}
    assert Play(agent_start(config_snapshot=snapshot), turn_start(), end).loop().context_tokens == 10


def test_an_approval_is_open_until_it_is_resolved():
    play = Play(agent_start(), tool_start(), ours("ApprovalRequested", kind="command", command="rm -rf x"))
    assert (play.loop().waiting, play.session().waiting, play.session().waiting_since) == (1, 1, NINE)

    play.feed(ours("ApprovalResolved", command="rm -rf x", decision="denied", reason="no"))

    approval = play.one(Approval)
    assert (approval.decision, approval.reason, approval.inferred) == ("denied", "no", False)
    assert (play.loop().waiting, play.session().waiting, play.session().waiting_since) == (0, 0, None)


@pytest.mark.parametrize(
    ("event", "decision"), [(tool_start(), "granted"), (tool_end(), "denied"), (FLUSH, "cancelled")]
)
def test_an_approval_without_an_answer_is_resolved_by_later_events(event, decision):
    play = Play(agent_start(), ours("ApprovalRequested", tool_call_id="c1"), event)

    assert (play.one(Approval).decision, play.one(Approval).inferred) == (decision, True)


def test_an_approval_stays_open_after_its_loop_until_the_session_continues():
    play = Play(agent_start("s.a.1"), ours("ApprovalRequested"), agent_end("s.a.1"))
    assert play.session().waiting == 1

    play.feed(agent_start("s.a.2"))

    assert play.session().waiting == 0


def test_an_unknown_event_is_flagged_once_a_loop():
    play = Play(agent_start(), ours("AgentPaused"), ours("AgentPaused"))

    assert play.anomalies() == ["unknown_type"]
    assert [record.type for record in play.of(EventRecord)][1:] == ["AgentPaused", "AgentPaused"]


def test_annotations_change_their_loop_turn_and_session():
    play = Play(
        agent_start(),
        turn_start(),
        ours("AgentSwitched", to="reviewer", **{"from": "coder"}),
        ours("UsageSnapshot", scope="loop", context_length=70),
        ours("ErrorRaised", scope="turn", message="rate limit"),
        ours("Notice", kind="warning", text="slow"),
        ours("SessionInfo", working_dir="src", scope="persistent"),
    )

    assert (play.loop().agent_label, play.loop().context_tokens, play.loop().errors) == ("reviewer", 70, 1)
    assert play.one(Turn).error == "rate limit"
    assert (play.session().working_dir, play.session().scope) == ("src", "persistent")


STREAMS = [
    small_loop("s.a.1"),
    small_loop("s.a.2", parent="s.a.1"),
    [agent_start("t.sub.1", parent="s.a.1"), turn_start("t.sub.1"), message_update("t.sub.1")],
    [*small_loop("u.a.1")[:-1], tool_start("u.a.1"), tool_end("u.a.1", is_error=True), FLUSH],
]


def per_loop(play):
    events = ("start_event", "end_event", "title_event")
    hidden = ("id", "session", "config", "parent", "group", *events)
    loops = {
        loop.loop_id: (
            {n: getattr(loop, n) for n in Loop.__dataclass_fields__ if n not in hidden},
            loop.parent and loop.parent.loop_id,
            loop.session.parent and loop.session.parent.loop_id,
            [(t.ordinal, t.state, t.input_tokens) for t in play.of(Turn) if t.loop is loop],
            [(t.tool_call_id, t.state) for t in play.of(ToolCall) if t.loop is loop],
            [b.text for b in play.of(TextBlock) if b.loop is loop],
        )
        for loop in play.of(Loop)
    }
    return dict(sorted(loops.items()))


def interleaved(order, shift=0):
    play, rests = Play(), [list(stream) for stream in STREAMS]
    for producer in order:
        if rests[producer]:
            play.feed(rests[producer].pop(0), producer=producer + 1)
    for producer, rest in enumerate(rests):
        play.feed(*rest, producer=producer + 1)
    return play


@settings(max_examples=60)
@given(st.lists(st.integers(0, len(STREAMS) - 1), max_size=30))
def test_interleaving_producers_gives_the_same_loops(order):
    assert per_loop(interleaved(order)) == per_loop(interleaved([]))


def test_clock_skew_changes_only_times():
    early = [{**e, "timestamp": "1999-01-01T00:00:00Z"} if "timestamp" in e else e for e in STREAMS[1]]
    records = Play(*STREAMS[0], *early)

    agreed = Play(*STREAMS[0], *STREAMS[1])

    for skewed, right in zip(records.of(Loop), agreed.of(Loop), strict=True):
        assert (skewed.status, skewed.outcome, skewed.role, skewed.turns) == (
            right.status,
            right.outcome,
            right.role,
            right.turns,
        )
        assert (skewed.parent and skewed.parent.loop_id) == (right.parent and right.parent.loop_id)
    assert records.session().status == agreed.session().status


@pytest.mark.parametrize("tape", TAPES, ids=lambda tape: tape.name[:2])
def test_a_session_is_the_sum_of_its_loops(tape):
    play = Play(*events(tape), FLUSH)

    assert play.of(Session)
    for session in play.of(Session):
        loops = [loop for loop in play.of(Loop) if loop.session is session]
        for name in ("input_tokens", "output_tokens", "turns", "tool_calls", "errors", "compactions"):
            assert getattr(session, name) == sum(getattr(loop, name) for loop in loops)
        assert session.loops == len([loop for loop in loops if loop.status != "pending"])
        assert session.open_loops == 0


def test_hostile_counts_do_not_overflow_a_column():
    most = 2**53 - 1
    play = Play(agent_start(), turn_start(), *[turn_end(tokens=most)] * 1_030)

    assert play.session().input_tokens < 2**63
