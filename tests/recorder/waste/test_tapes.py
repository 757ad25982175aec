"""The precision of the rules: all that they find in the recorded streams, and which of it is an alarm."""

import pytest

from recorder.models import LoopRecord, Session, Waste, WasteRedo
from recorder.projection.rebuild import rebuild
from recorder.waste import follower, state
from recorder.waste.follower import Follower
from tests.recorder.journal.spans import captures
from tests.recorder.waste import tapes
from tests.recorder.waste.test_follower import rows

pytestmark = pytest.mark.django_db(transaction=True)

# By source, session, rule, name, times, and whether it is an alarm. All of it is waste: the agents of both
# streams read the same log four times, the model of the capture divides by zero four times, and the file is
# read again before it is edited. The demo plays streams of phi-core again, so they are here twice.
FOUND = [
    ("cagent", "cagent API sessions endpoint e", "reread", "pkg/session/store.go", 2, False),
    ("otlp", "New task: [[toolerr]] What is ", "same_error", "divide", 4, True),
    *2 * [("phi-core", "Filters, refusals and errors", "cut_output", "", 1, False)],
    *2 * [("phi-core", "Scan the logs for errors.", "same_call", "log", 4, True)],
    *2 * [("phi-core", "Three answers to one question", "thrown_away", "", 1, False)],
]
REPEATING = "frameworks/smolagents/04-tool-error"
LEAST_LOOPS = 240


def found():
    """Return what was found: source and title of the session, rule, name, times, whether it is an alarm."""
    sessions = Session.objects.in_bulk()
    rows = [
        (
            sessions[waste.session].source,
            sessions[waste.session].title[:30],
            waste.rule,
            waste.name,
            waste.times,
            waste.alarm_line is not None,
        )
        for waste in Waste.objects.all()
    ]
    return sorted(rows)


@pytest.mark.slow
def test_every_alarm_in_the_recorded_streams_is_listed(project):
    tapes.play_everything(project)
    follower.run_all()

    assert LoopRecord.objects.count() >= LEAST_LOOPS
    assert found() == sorted(FOUND)


@pytest.mark.parametrize("is_stepwise", [True, False])
def test_a_capture_has_its_waste_however_it_was_cut_and_when_it_is_found_again(project, is_stepwise):
    steps = Follower()
    for batch in captures.lines(REPEATING):
        captures.record(project, batch)
        while is_stepwise and steps.step():
            pass
    follower.run_all()
    stored = rows(project)
    assert [(row[2], row[5]) for row in stored[0]] == [("same_error", 4)]

    for again in (
        lambda: state.forget(project.pk),
        lambda: rebuild(project),
        lambda: WasteRedo.mark(Session.objects.values_list("pk", flat=True)),
    ):
        again()
        follower.run_all()
        assert rows(project) == stored


def test_streams_that_are_recorded_at_once_or_one_by_one_have_the_same_waste(project):
    steps = Follower()
    for path in tapes.STREAMS:
        tapes.play(project, path)
        while steps.step():
            pass
    stored = rows(project)
    state.forget(project.pk)
    follower.run_all()
    assert rows(project) == stored
