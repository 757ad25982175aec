"""Our sessions against those of phi-core's recorder. Each of the ten intended differences has a test."""

import pytest

from recorder.core.records import ChildRef, EventRecord
from tests.phi_core import forest
from tests.phi_core.compare_sessions import differences
from tests.phi_core.scenarios import CASES, TAPES, record, run, sessions, tape
from tests.support import build
from tests.support.memory_store import FLUSH, Play

# Where phi-core overwrites, invents or loses data; the tests below assert what we record instead.
OTHER_TAPES = {"04"}
OTHER_CASES = {"parallel-twice-same-ids", "uuid-parent-false-spawn", "session-reopened-after-checkpoint"}
OTHER_ROOTS = OTHER_CASES | {"duplicate-start-open", "parallel-branch-never-started", "open-loop-query"}
OTHER_CALLS = {"duplicate-start-open", "parallel-branch-never-started", "session-reopened-after-checkpoint"}


@pytest.mark.parametrize(
    "tape", [t for t in TAPES if t.name[:2] not in OTHER_TAPES], ids=lambda t: t.name[:2]
)
def test_a_scenario_gives_phi_cores_sessions(tape):
    ours = {session["session_id"]: session for session in record(tape).sessions()}

    theirs = sessions(tape)

    assert set(theirs) == set(ours)
    assert [d for name in theirs for d in differences(theirs[name], ours[name])] == []


def test_scenario_01_with_everything_captured_gives_phi_cores_full_sessions():
    first = tape("01")
    recorder = record(first, include_streaming_events=True, capture_turn_requests=True)
    ours = {session["session_id"]: session for session in recorder.sessions()}

    theirs = sessions(first, "sessions-full")

    assert [d for name in theirs for d in differences(theirs[name], ours[name])] == []


@pytest.mark.parametrize("name", sorted(set(CASES) - OTHER_CASES))
def test_a_recorder_case_gives_phi_cores_sessions(name):
    recorder, seen = run(CASES[name])
    ours = {session["session_id"]: session for session in recorder.sessions()}

    theirs = {session["session_id"]: session for session in CASES[name]["sessions"]}

    assert set(theirs) == set(ours)
    assert [d for key in theirs for d in differences(theirs[key], ours[key])] == []
    drained = {session["session_id"]: session for session in seen.drained}
    assert [d for t in CASES[name]["drained"] for d in differences(t, drained[t["session_id"]])] == []


@pytest.mark.parametrize("name", sorted(set(CASES) - OTHER_CALLS))
def test_a_recorder_case_calls_back_as_phi_core_does(name):
    _, seen = run(CASES[name])

    theirs = [(call["callback"], call["session_id"], call["loops"]) for call in CASES[name]["callbacks"]]
    # phi-core goes through sessions in hash order when it flushes.
    assert sorted(seen.calls) == sorted(theirs)


@pytest.mark.parametrize("name", sorted(set(CASES) - OTHER_ROOTS))
def test_a_recorder_case_adds_up_and_has_roots_as_in_phi_core(name):
    recorder, _ = run(CASES[name])

    for theirs in CASES[name]["derived"]:
        ours = recorder.get_session(theirs["session_id"])
        assert forest.total_usage(ours) == theirs["total_usage"]
        assert {loop["loop_id"] for loop in forest.root_loops(ours)} == set(theirs["root_loops"])


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["open_loops"]])
def test_an_open_loop_looks_as_in_phi_core(name):
    recorder, _ = run(CASES[name])

    for theirs in CASES[name]["open_loops"]:
        ours = recorder.current_loop(theirs["loop_id"])
        if theirs["open"] is None:
            assert ours is None
        else:
            assert [event["sequence"] for event in theirs["open"]["events"]] == [
                event["sequence"] for event in ours["events"]
            ]
            assert ours["status"] == theirs["open"]["status"]


def test_checkpoints_promote_as_many_sessions_as_in_phi_core():
    for case in CASES.values():
        theirs = [op["checkpoint_promoted"] for op in case["op_results"] if "checkpoint_promoted" in op]
        assert run(case)[1].promoted == theirs


def test_1_a_repeated_loop_id_is_a_further_run():
    (ours,) = record(tape("04")).sessions()

    groups = [loop["parallel_group"] for loop in ours["loops"]]
    assert [group["selected_config_index"] for group in groups] == [0, 0, 1, 1]
    assert len({loop["loop_id"] for loop in ours["loops"]}) == 2
    assert len({loop["started_at"] for loop in ours["loops"]}) == 4


def test_1_scenario_04_differs_from_phi_core_in_its_groups_only():
    fourth = tape("04")
    (theirs,), (ours,) = sessions(fourth).values(), record(fourth).sessions()

    found = differences(theirs, ours)
    assert len(found) == 4
    assert all(".parallel_group: " in difference for difference in found)


def test_2_announced_loops_are_pending_until_they_start():
    play = Play(build.parallel_start("s.a.1", "s.b.2"))
    assert [play.loop(name).status for name in ("s.a.1", "s.b.2")] == ["pending", "pending"]

    play.feed(build.agent_start("s.a.1"), build.agent_end("s.a.1"), build.parallel_end("s.a.1"), FLUSH)

    assert [play.loop(name).status for name in ("s.a.1", "s.b.2")] == ["completed", "pending"]
    assert play.loop("s.a.1").run == 1


def test_3_a_child_is_linked_at_its_start_and_stays_linked_when_aborted():
    play = Play(build.agent_start("s.a.1"), build.agent_start("s.a.2", parent="s.a.1"))
    assert play.loop("s.a.2").parent is play.loop("s.a.1")

    play.feed(FLUSH)

    assert (play.loop("s.a.2").status, play.loop("s.a.2").parent) == ("aborted", play.loop("s.a.1"))


CHILD = [build.agent_start("t.sub.1", parent="s.a.1"), build.agent_end("t.sub.1")]
CALL = [
    build.tool_start(call="c7", name="delegate"),
    build.tool_end(call="c7", name="delegate", child="t.sub.1"),
]


@pytest.mark.parametrize(
    "stream",
    [[*CALL, *CHILD], [*CHILD, *CALL], [CALL[0], CHILD[0], CALL[1], CHILD[1]]],
    ids=["call first", "child first", "nested"],
)
def test_4_sub_agents_are_linked_in_any_order(stream):
    play = Play(build.agent_start("s.a.1"), *stream)

    session = play.session("t")
    spawn = (session.parent_session_id, session.parent_loop_id, session.spawn_tool_call_id)
    assert spawn == ("s", "s.a.1", "c7")
    assert session.parent is play.loop("s.a.1")
    (ref,) = play.of(ChildRef)
    assert ref.child is play.loop("t.sub.1")
    assert play.loop("t.sub.1").role == "sub_agent"


def test_4_a_parent_that_is_recorded_last_is_linked():
    play = Play(*CHILD, build.agent_start("s.a.1"), *CALL)

    assert play.session("t").parent is play.loop("s.a.1")


def test_5_a_parent_in_the_same_session_makes_no_spawn_reference():
    recorder, _ = run(CASES["uuid-parent-false-spawn"])
    (ours,), (theirs,) = recorder.sessions(), CASES["uuid-parent-false-spawn"]["sessions"]

    assert theirs["parent_spawn_ref"] is not None
    assert ours["parent_spawn_ref"] is None
    assert [d for d in differences(theirs, ours) if not d.startswith("parent_spawn_ref")] == []


def test_5_nor_does_a_parent_that_is_recorded_after_its_child():
    play = Play(build.agent_start("s.a.1", parent="judge"), build.agent_start("judge", session="s"))

    assert not play.session().has_spawn
    assert play.loop("s.a.1").parent is play.loop("judge")
    assert play.loop("s.a.1").role == "normal"


def test_6_an_aborted_loop_ends_at_its_last_event():
    play = Play(build.agent_start(at=1), build.turn_start(at=5), build.message_start(), FLUSH)

    assert play.loop().ended_at.second == 5


def test_7_events_that_phi_core_drops_are_recorded():
    loop = build.small_loop()
    play = Play(
        build.parallel_start("s.a.1"),
        *loop[:-1],
        build.revert_applied(),
        build.ours("Newer"),
        loop[-1],
        build.prun_applied(),
        build.parallel_end("s.a.1"),
    )

    types = [record.type for record in play.of(EventRecord) if record.loop is play.loop()]
    assert {"RevertApplied", "Newer", "PrunApplied", "ParallelLoopStart", "ParallelLoopEnd"} <= set(types)


def test_8_a_session_that_continues_after_a_checkpoint_is_one_session():
    recorder, _ = run(CASES["session-reopened-after-checkpoint"])

    (ours,) = recorder.sessions()

    first, second = CASES["session-reopened-after-checkpoint"]["sessions"]
    assert [loop["loop_id"] for loop in ours["loops"]] == [
        loop["loop_id"] for session in (first, second) for loop in session["loops"]
    ]
    assert ours["loops"][0]["children_loop_ids"] == [ours["loops"][1]["loop_id"]]
    assert ours["created_at"] == first["created_at"]


def test_9_no_loop_is_its_own_child():
    for session in record(tape("06")).sessions():
        assert all(loop["loop_id"] not in loop["children_loop_ids"] for loop in session["loops"])

    play = Play(build.agent_start("s.a.1", parent="s.a.1"))
    assert play.loop().parent is None
    assert play.anomalies() == ["self_parent"]


def test_10_a_turn_may_carry_its_request():
    play = [
        build.agent_start(),
        build.turn_start(),
        build.turn_request(),
        build.turn_end(),
        build.agent_end(),
    ]
    (with_it, _), (without, _) = (
        run({"config": {"capture_turn_requests": on}, "ops": [{"op": "event", "event": e} for e in play]})
        for on in (True, False)
    )

    assert "request_payload" in with_it.sessions()[0]["loops"][0]["turns"][0]
    assert "request_payload" not in without.sessions()[0]["loops"][0]["turns"][0]
