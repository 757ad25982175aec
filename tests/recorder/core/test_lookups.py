"""Look-ups: each is declared once, and handlers query State for declared ids only."""

from dataclasses import fields

import pytest

from recorder.core import state_keys
from recorder.core.lookups import KEY_NAMES, LOOKUPS, StateKeys
from recorder.core.recorder import Recorder
from recorder.core.state import State
from tests.support import build
from tests.support.checked_state import UndeclaredKeyError, declared
from tests.support.memory_store import Play

BY_RECORDS = {
    "loops",
    "children",
    "sessions_below",
    "refs_of_loop",
    "running_loops",  # by producer: of ending producers, or of a loop at hand
    "last_turns",
    "turns_without_usage",
    "running_tools",
    "running_compactions",
    "text_blocks",
    "open_approvals",
    "approvals_by_tool",
    "running_groups",
    "branches",
    "cut_parts",
    "ends_elsewhere",
    "_latest_ends",
    "_ends_taken_back",
}


def test_every_index_of_state_is_by_records_or_a_declared_look_up():
    indexes = {field.name for field in fields(State)} - {"config_count", "prices", "_last_found"}

    assert indexes == BY_RECORDS | {lookup.index for lookup in LOOKUPS}


def test_every_key_of_a_look_up_is_collected():
    assert {key for lookup in LOOKUPS for key in lookup.keys} == {*KEY_NAMES} - {
        "price_keys",
        "shrinking_session_ids",
        "reopening_loop_ids",
        "late_usage_loop_ids",
        "ending_producers",
    }


@pytest.mark.parametrize(
    ("forgotten", "event"),
    [
        ("_add_loop", build.agent_start("s.a.2", parent="s.a.1")),
        ("_add_loop", build.parallel_end("s.a.2")),
        ("_add_loop", build.tool_end("s.a.1", child="t.a.1")),
        ("_add_session", build.ours("SubAgentLinked", None, parent_loop_id="s.a.1", child_session_id="t")),
        ("_add_inferred_config", build.turn_end("s.a.1", message=build.assistant(model="other"))),
    ],
)
def test_a_look_up_of_an_undeclared_id_raises(monkeypatch, forgotten, event):
    play = Play(build.agent_start("s.a.1"))
    monkeypatch.setattr(state_keys._KeyCollector, forgotten, lambda *_: None)

    with pytest.raises(UndeclaredKeyError):
        play.feed(event)


def test_the_price_of_a_call_is_declared():
    snapshot = {"model": "configured", "provider": "anthropic"}
    play = Play(build.agent_start("s.a.1", config_snapshot=snapshot))
    line = play.line(build.turn_end("s.a.1", message=build.assistant(model="configured-20260101")))
    keys = state_keys.state_keys_of([line])

    with (
        declared(play.state, StateKeys(loop_ids=keys.loop_ids)),
        pytest.raises(UndeclaredKeyError, match="prices"),
    ):
        Recorder(play.state).feed(line)


def test_keys_are_united_and_subtracted_by_kind():
    one = StateKeys(loop_ids=frozenset("ab"), session_ids=frozenset("s"))
    other = StateKeys(loop_ids=frozenset("bc"))

    assert one.union(other).loop_ids == frozenset("abc")
    assert one.difference(other) == StateKeys(loop_ids=frozenset("a"), session_ids=frozenset("s"))
