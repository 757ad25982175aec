"""A turn is matched with reports of its cost by indexes, however many calls a project has."""

import pytest

from recorder.journal.spans.reported_calls import MOST, ReportedCalls
from recorder.models import Project
from tests.recorder.query_work import query_work

pytestmark = pytest.mark.django_db
CALLS = 60


def turn(number):
    message = {"timestamp": 10**12 + number, "model": "m", "requestId": f"r{number}"}
    usage = {"input": 100, "output": 10}
    return {
        "type": "TurnEnd",
        "loop_id": f"s{number}.a",
        "turn_index": 0,
        "usage": usage,
        "message": message,
    }


def withdrawn(number):
    return {"type": "LoopWithdrawn", "loop_id": f"s{number}.a"}


def work(slug, calls, event):
    """Return the work of an event of a further loop in a project with some calls."""
    project = Project.objects.create(slug=slug).pk
    ReportedCalls(project).of_transcript(map(turn, range(calls)))
    return query_work(lambda: ReportedCalls(project).of_transcript([event(calls)]))


@pytest.mark.parametrize("event", [turn, withdrawn])
def test_four_times_the_calls_of_a_project_take_no_more_work_for_the_next(event):
    assert work("many", 4 * CALLS, event) <= 1.2 * work("few", CALLS, event)


def of_one_time(project, first, count):
    """Add turns of one session with the same figures at the same time, a line each."""
    usage, message = {"input": 100, "output": 10}, {"timestamp": 10**12, "model": "m"}
    for number in range(first, first + count):
        end = {"type": "TurnEnd", "loop_id": "s.a", "turn_index": number, "usage": usage, "message": message}
        yield ReportedCalls(project).of_transcript([end])


def test_turns_that_nothing_distinguishes_take_no_more_work_the_more_there_are():
    project = Project.objects.create(slug="p").pk
    list(of_one_time(project, 0, 4 * MOST))
    few = query_work(lambda: list(of_one_time(project, 4 * MOST, 10)))
    list(of_one_time(project, 5 * MOST, 8 * MOST))

    assert query_work(lambda: list(of_one_time(project, 20 * MOST, 10))) <= 1.2 * few
