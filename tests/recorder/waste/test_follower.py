"""The search for waste of recorded sessions: what it writes, and that it is the same whenever it ran."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import (
    Project,
    Session,
    ToolCall,
    Turn,
    Waste,
    WastedCall,
    WasteLoop,
    WasteRedo,
    WasteState,
)
from recorder.operations import deletion
from recorder.operations.audit import COMMAND
from recorder.projection import removal
from recorder.projection.rebuild import rebuild
from recorder.waste import adding, follower, lines, state
from recorder.waste.follower import Follower
from tests.recorder.old_bodies import consolidate, play, prune
from tests.recorder.waste.streams import PLANS, lines_of

pytestmark = pytest.mark.django_db(transaction=True)


def record(project, plan, first=0):
    lines = lines_of(plan)
    ingest(Batch(project.pk, "p", first, lines, "native"))
    return lines


def rows(project):
    """Return the waste of a project without primary keys of its own."""
    names = ("loop", "agent_id", "rule", "name", "key", "times", "first_line", "last_line", "last_at")
    wastes = Waste.objects.filter(project=project).order_by("loop", "rule", "key")
    calls = WastedCall.objects.filter(waste__project=project).order_by("turn", "tool_call")
    states = WasteLoop.objects.filter(project=project).order_by("loop")
    return (
        list(wastes.values_list(*names, "alarm_line", "alarmed_at", "counted_nano")),
        list(calls.values_list("waste__rule", "waste__key", "loop", "turn", "tool_call", "line", "share")),
        [(row.loop, row.state) for row in states],
    )


def cost_nano(waste):
    """Return the cost of a waste as pages compute it."""
    turns = Turn.objects.in_bulk([call.turn for call in waste.calls.all()])
    return sum((turns[call.turn].cost_nano or 0) // call.share for call in waste.calls.all())


def test_a_call_repeated_four_times_is_waste_of_three_turns_and_an_alarm(project):
    record(project, [(0, "query")] * 4)
    follower.run_all()

    (waste,) = Waste.objects.all()
    ends = list(ToolCall.objects.order_by("end_event").values_list("end_event", flat=True))
    assert (waste.rule, waste.name, waste.times) == ("same_call", "query", 4)
    assert (waste.first_line, waste.last_line) == (ends[0], ends[3])
    assert waste.alarm_line == ends[3]
    assert list(waste.calls.order_by("pk").values_list("line", flat=True)) == [ends[2], ends[2], ends[3]]
    assert cost_nano(waste) == waste.counted_nano == 750_000_000


def test_a_call_of_several_in_a_turn_wastes_its_part_of_the_turn(project):
    record(project, [(0, "two calls")] * 4)
    follower.run_all()

    wastes = {waste.rule: waste for waste in Waste.objects.all()}
    assert set(wastes) == {"same_call", "reread"}
    assert {call.share for call in WastedCall.objects.all()} == {2}
    assert [cost_nano(waste) for waste in wastes.values()] == [375_000_000] * 2


def test_the_share_is_right_when_the_turn_has_ended(project):
    lines = record(project, [(0, "two calls")] * 3)
    steps = Follower()
    while steps.step():
        pass
    assert set(WastedCall.objects.values_list("share", flat=True)) == {2}
    again = Project.objects.create(slug="again")
    for at, line in enumerate(lines):
        ingest(Batch(again.pk, "p", at, [line], "native"))
        while steps.step():
            pass
    assert [row[-1] for row in rows(again)[1]] == [row[-1] for row in rows(project)[1]]


def test_a_rerun_wastes_what_nothing_else_did(project):
    record(project, [(0, "query")] * 3 + [(0, "two calls"), (0, "cut"), (0, "end"), (1, "plain")])
    follower.run_all()

    spent = sum(turn.cost_nano for turn in Turn.objects.filter(loop__loop_id="s.a.1"))
    wastes = Waste.objects.filter(loop=Turn.objects.filter(loop__loop_id="s.a.1").first().loop_id)
    assert {waste.rule for waste in wastes} == {"same_call", "cut_output", "thrown_away"}
    assert sum(cost_nano(waste) for waste in wastes) == spent
    assert wastes.get(rule="thrown_away").alarm_line is None


def test_a_turn_that_failed_is_waste_when_it_was_tried_again(project):
    record(project, [(0, "failed"), (0, "failed"), (0, "plain")])
    follower.run_all()
    (waste,) = Waste.objects.all()
    assert (waste.rule, waste.times, cost_nano(waste)) == ("thrown_away", 2, 500_000_000)


@pytest.mark.parametrize(("amount", "alarms"), [("0", 0), ("0.5", 1), ("0.50000001", 0), ("9", 0)])
def test_waste_of_the_set_amount_is_an_alarm_at_the_end_of_its_turn(project, settings, amount, alarms):
    settings.LOOPSCOPE_WASTE_USD = Decimal(amount)
    record(project, [(0, "query")] * 3)
    follower.run_all()
    last = Turn.objects.order_by("end_event").last()
    found = Waste.objects.filter(alarm_line__isnull=False)
    assert [waste.alarm_line for waste in found] == [last.end_event] * alarms


def test_lines_behind_the_end_of_a_loop_are_skipped_and_its_state_is_deleted(project):
    record(project, [(0, "query")] * 2 + [(0, "end")] + [(0, "query")] * 3)
    follower.run_all()
    assert not Waste.objects.exists()
    assert not WasteLoop.objects.exists()


def finish(steps):
    """Run all steps. On PostgreSQL a line is behind the floor of commits at the second look."""
    for _ in range(2):
        while steps.step():
            pass


def test_a_new_alarm_is_reported_once_with_its_loop(project):
    steps = Follower()
    lines = record(project, [(0, "query")] * 4)
    finish(steps)
    (waste,) = Waste.objects.all()
    assert steps.new_alarms(project.pk) == {waste.pk: waste.loop}
    assert steps.touched == {project.pk: {waste.session}}
    WasteRedo.mark([waste.session])
    ingest(Batch(project.pk, "p", len(lines), lines_of([(0, "query")])[1:], "native"))
    finish(steps)
    assert Waste.objects.get().times == 5
    assert steps.new_alarms(project.pk) == {}


def fresh():
    """Return a project of its own for each example: the database is not emptied between them."""
    return Project.objects.create(slug=f"p{Project.objects.count()}")


@pytest.mark.slow
@settings(max_examples=40)
@given(PLANS, st.lists(st.integers(1, 200), max_size=8), st.sampled_from(["redo", "forget", "rebuild"]))
def test_any_cut_into_steps_gives_the_same_rows_and_so_does_finding_them_again(plan, cuts, after):
    project, steps = fresh(), Follower()
    lines, first = lines_of(plan), 0
    for end in [*sorted({cut for cut in cuts if cut < len(lines)}), len(lines)]:
        ingest(Batch(project.pk, "p", first, lines[first:end], "native"))
        first = end
        finish(steps)
    found = rows(project)
    if after == "redo":
        WasteRedo.mark(Session.objects.filter(project=project).values_list("pk", flat=True))
    elif after == "forget":
        state.forget(project.pk)
    else:
        rebuild(project)
    follower.run_all()
    assert rows(project) == found
    check(project)


def check(project):
    """Check that nothing counts twice, and that no turn wastes more than it cost."""
    for turn in Turn.objects.filter(loop__session__project=project):
        calls = list(WastedCall.objects.filter(turn=turn.pk))
        assert len({call.tool_call for call in calls}) == len(calls)
        if any(call.tool_call is None for call in calls):
            assert len(calls) == 1
        assert sum((turn.cost_nano or 0) // call.share for call in calls) <= (turn.cost_nano or 0)


def test_a_step_that_was_cut_off_leaves_nothing_and_runs_again(project, monkeypatch):
    record(project, [(0, "query")] * 4)

    def broken(ends, known):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(adding, "_save", broken)
        with pytest.raises(KeyboardInterrupt):
            follower.run_all()
        assert not Waste.objects.exists()
    follower.run_all()
    assert Waste.objects.get().times == 4


def test_a_deleted_session_leaves_no_waste(project):
    record(project, [(0, "query")] * 4 + [(3, "read")] * 2)
    follower.run_all()
    session = Session.objects.get(session_id="s")
    removal.hide(project.pk, session.pk)
    assert set(Waste.objects.values_list("rule", flat=True)) == {"reread"}
    assert WastedCall.objects.count() == 1
    assert WasteLoop.objects.count() == 1


def test_a_deleted_session_gets_no_waste_any_more(project):
    record(project, [(0, "query")] * 4)
    removal.hide(project.pk, Session.objects.get().pk)
    follower.run_all()
    assert not Waste.objects.exists()
    assert not WasteLoop.objects.exists()


def test_a_step_that_read_its_lines_before_a_deletion_leaves_nothing(project, monkeypatch):
    record(project, [(0, "query")] * 4)
    ends = lines.ends_between(0, 2**40)
    hide = removal.hide

    def hide_before_the_step(*args):
        touched = hide(*args)
        adding.add(ends)
        assert Waste.objects.exists()
        return touched

    monkeypatch.setattr(removal, "hide", hide_before_the_step)
    deletion.delete_session(project, "s", COMMAND)
    assert not Waste.objects.exists()
    assert not WasteLoop.objects.exists()


def test_a_session_is_made_again_up_to_the_line_that_another_node_has_reached(project, monkeypatch):
    record(project, [(0, "query")] * 2)
    follower.run_all()
    WasteRedo.mark([Session.objects.get().pk])
    ingest(Batch(project.pk, "p", None, lines_of([(0, "query")] * 4), "native"))
    try_lock = state.CURSORS.try_lock

    def lock_after_another_node():
        after = WasteState.objects.get().cursor
        state.CURSORS.advance(lines.ends_between(after, 2**40)[-1].line)
        return try_lock()

    with monkeypatch.context() as patch:
        patch.setattr(type(state.CURSORS), "try_lock", lambda _: lock_after_another_node())
        assert Follower().step()
    follower.run_all()
    assert Waste.objects.get().times == 4


def test_a_session_is_made_again_after_a_project_that_is_created_meanwhile_has_begun(project, monkeypatch):
    record(project, [(0, "query")] * 4)
    follower.run_all()
    found = rows(project)
    WasteRedo.mark([Session.objects.get().pk])
    try_lock = type(state.CURSORS).try_lock

    def lock_after_a_new_project(cursors):
        Project.objects.create(slug="new")
        return try_lock(cursors)

    with monkeypatch.context() as patch:
        patch.setattr(type(state.CURSORS), "try_lock", lock_after_a_new_project)
        Follower().step()
    follower.run_all()
    assert rows(project) == found
    assert not WasteRedo.objects.exists()


def test_a_pruned_session_keeps_its_waste(project):
    play(project, lines_of([*[(0, "query")] * 4, *[(0, "cut")] * 2, (0, "end")]), 40, "p")
    follower.run_all()
    found = rows(project)[:2]
    assert len(found[0]) == 2
    consolidate()
    project.retention_days = 30
    prune(project)
    session = Session.objects.get(pruned_on__isnull=False)
    for again in (lambda: WasteRedo.mark([session.pk]), lambda: state.forget(project.pk)):
        again()
        follower.run_all()
        assert rows(project)[:2] == found
    assert not WasteLoop.objects.exists()
