"""What the search for waste costs: statements and state do not grow with what was recorded before."""

import asyncio

import pytest
from django.core.management import call_command
from django.db import connection

from recorder.core.waste.loop import MOST, LoopWaste
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.ingest.commit.writer import Writer
from recorder.models import Turn, Waste, WastedCall, WasteLoop
from recorder.projection.masking import mask_sessions
from recorder.waste import follower, lines, rows, state
from recorder.waste.follower import Follower
from tests.recorder.ledger.test_large_sessions import Counter
from tests.recorder.waste.streams import Stream, lines_of
from tests.recorder.waste.test_follower import record
from tests.support import build
from tests.support.wait import until

pytestmark = pytest.mark.django_db(transaction=True)

LOOP, CALLS = "s.a.1", 200


def statements(project, stream):
    """Record the new lines of a stream and look for waste in them; return how many statements that took."""
    lines, stream.lines = stream.lines, []
    ingest(Batch(project.pk, "p", None, lines, "native"))
    counter, steps = Counter(), Follower()
    with connection.execute_wrapper(counter):
        while steps.step():
            pass
    return counter.all


@pytest.mark.parametrize("action", ["query", "read", "cut", "failed", "hostile"])
def test_the_work_for_a_call_does_not_grow_with_the_number_of_calls_before(project, action):
    stream, found = Stream(), []
    for _ in range(5):
        for _ in range(CALLS):
            stream.add(LOOP, action)
        found.append(statements(project, stream))
    assert found[-1] <= found[1] + 2
    assert found[-1] < CALLS
    assert len(WasteLoop.objects.get().state["repetitions"]) <= 1


def test_thousands_of_different_calls_with_large_arguments_leave_a_bounded_state(project):
    stream = Stream()
    stream.add(LOOP, "plain")
    stream.lines.append(build.line(build.turn_start(LOOP, index=1)))
    for number in range(1_000):
        large = "x" * (1_000_000 if number == 500 else 300)
        arguments = {"path": f"{large}/{number}\u202e\x00", "more": [large]}
        stream.lines.append(build.line(build.tool_start(LOOP, f"c{number}", "read_file", arguments)))
        stream.lines.append(build.line(build.tool_end(LOOP, f"c{number}", "read_file")))
    statements(project, stream)
    state = WasteLoop.objects.get().state
    assert len(state["repetitions"]) == MOST
    assert len(str(state)) < 1_000 * MOST
    assert not Waste.objects.exists()


@pytest.mark.parametrize("place", ["call_of", "LoopWaste.add_turn"])
def test_a_line_that_breaks_the_rules_is_skipped_and_blocks_none_behind_it(
    project, monkeypatch, caplog, place
):
    owner = lines if place == "call_of" else LoopWaste
    real = getattr(owner, place.rsplit(".", maxsplit=1)[-1])
    seen = []

    def breaking(*arguments, **named):
        if place == "call_of" and arguments[1] != "solve":
            return real(*arguments, **named)
        if place == "LoopWaste.add_turn" and arguments[1].ref.line != broken:
            return real(*arguments, **named)
        seen.append(place)
        raise RuntimeError("broken")

    record(project, [(0, "query"), (0, "error"), (0, "query"), (0, "query"), (0, "query")])
    broken = Turn.objects.order_by("pk")[1].end_event
    monkeypatch.setattr(owner, place.rsplit(".", maxsplit=1)[-1], breaking)
    follower.run_all()

    assert Waste.objects.get().times == 4
    assert Waste.objects.get().alarm_line is not None
    assert len(seen) > 1  # with its neighbours, then by itself
    skipped = [found for found in caplog.records if "breaks the search for waste" in found.message]
    assert len(skipped) == 1
    assert state.CURSORS.waiting() == 0


def test_a_rerun_of_more_turns_than_a_statement_has_parameters_is_counted(project, monkeypatch):
    monkeypatch.setattr(rows, "PARAMETERS", 2)
    stream = Stream()
    for _ in range(5):
        stream.add(LOOP, "plain")
    stream.add(LOOP, "end")
    stream.add("s.a.2", "plain")
    statements(project, stream)
    assert Waste.objects.get(rule="thrown_away").times == 1
    assert WastedCall.objects.count() == 5


def test_the_writer_publishes_the_alarm_of_the_fourth_call_behind_its_acknowledgement(
    project, settings, invalidations
):
    settings.LOOPSCOPE_WASTE = True
    writer = Writer()
    try:
        lines = lines_of([(0, "query")] * 4)
        for at, line in enumerate(lines):
            asyncio.run(writer.submit(Batch(project.pk, "p", at, [line], "native")))
        found = until(lambda: [each for each in invalidations if each.alarms])
    finally:
        writer.close()
    waste = Waste.objects.get()
    assert [each.alarms for each in found] == [{waste.pk: waste.loop}]
    assert found[0].wastes == {waste.session}
    assert found[0].project == project.pk


def test_a_process_that_does_not_look_for_waste_leaves_it_to_others(project, settings):
    settings.LOOPSCOPE_WASTE = False
    writer = Writer()
    try:
        asyncio.run(writer.submit(Batch(project.pk, "p", 0, lines_of([(0, "query")] * 4), "native")))
        assert not writer.waste.run(lambda: False)
        assert writer.waste.due_in_s(0.25) == 0.25
    finally:
        writer.close()
    assert not Waste.objects.exists()


def test_the_command_looks_for_waste_and_finds_it_anew(project):
    record(project, [(0, "query")] * 4)
    call_command("index", only="waste")
    Waste.objects.update(times=9)
    call_command("index", only="waste")
    assert Waste.objects.get().times == 9
    call_command("index", only="waste", rebuild=True)
    assert Waste.objects.get().times == 4


class _Masker:
    """A masker of one word."""

    def mask_text(self, text):
        return text.replace("src", "[masked]")

    def __getattr__(self, name):
        raise AssertionError(f"{name} is not needed")


def test_the_names_of_files_are_masked(project, monkeypatch):
    record(project, [(0, "read")] * 2)
    follower.run_all()
    (waste,) = Waste.objects.all()
    monkeypatch.setattr("recorder.projection.masking._OF_SESSIONS", {})
    changed = mask_sessions(project.pk, [waste.session], _Masker(), write=True)
    assert changed == {("recorder_waste", waste.pk)}
    assert Waste.objects.get().name == "[masked]/a.py"
    assert WastedCall.objects.count() == 1
