"""The latest end of a session is read from an index, however many loops the session has."""

from datetime import timedelta

import pytest

from recorder.core.context import JournalLine
from recorder.core.formats.native import parse
from recorder.core.state_keys import state_keys_of
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Project
from recorder.projection import store
from tests.recorder.query_work import query_work
from tests.support import build

pytestmark = pytest.mark.django_db
LOOPS = 120


def session(name, loops):
    """Record a session of some loops that ended and a last one that runs; return what `work` needs."""
    project, last = Project.objects.create(slug=name), f"{name}.b.1"
    events = [
        event
        for number in range(loops)
        for event in (
            build.agent_start(f"{name}.a.{number}", at=number),
            build.agent_end(f"{name}.a.{number}", at=2 * number),
        )
    ]
    lines = [build.line(event) for event in (*events, build.agent_start(last, at=loops))]
    ingest(Batch(project.pk, name, None, lines))
    return project, last, build.NINE + timedelta(seconds=2 * (loops - 1))


def work(project, last, latest_end):
    """Return the work of loading what a line of the last loop needs, and the latest end of the others."""
    line = JournalLine(0, 1, build.NINE, "phi-core", parse(build.line(build.agent_end(last))))
    states = []
    steps = query_work(
        lambda: states.append(store.load_state(project.pk, state_keys_of([line]), frozenset()))
    )
    assert [*states[0].ends_elsewhere.values()] == [latest_end]
    return steps


def test_four_times_the_loops_of_a_session_take_no_more_work_for_its_latest_end():
    few, many = session("few", LOOPS), session("many", 4 * LOOPS)

    assert work(*many) <= 1.1 * work(*few)
