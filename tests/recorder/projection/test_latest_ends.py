"""The latest end of a session is read from an index, however many loops the session has."""

import json
from datetime import timedelta

import pytest

from recorder.core.context import Line
from recorder.core.formats.native import parse
from recorder.core.state_keys import state_keys_of
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Project
from recorder.projection import store
from tests.recorder.query_work import query_work
from tests.support import build

pytestmark = pytest.mark.django_db
LOOPS = 60


def work(name, loops):
    """Return the work of loading what a line of the last loop needs, and the latest end of the others."""
    project = Project.objects.create(slug=name)
    events = [
        event
        for number in range(loops)
        for event in (
            build.agent_start(f"s.a.{number}", at=number),
            build.agent_end(f"s.a.{number}", at=2 * number),
        )
    ]
    events.append(build.agent_start("s.b.1", at=loops))
    ingest(Batch(project.pk, name, None, [json.dumps(event).encode() for event in events]))
    line = Line(0, 1, build.NINE, "phi-core", parse(build.line(build.agent_end("s.b.1", at=loops))))
    states = []
    steps = query_work(
        lambda: states.append(store.load_state(project.pk, state_keys_of([line]), frozenset()))
    )
    (end,) = states[0].ends_elsewhere.values()
    assert end == build.NINE + timedelta(seconds=2 * (loops - 1))
    return steps


def test_four_times_the_loops_of_a_session_take_no_more_work_for_its_latest_end():
    few = work("few", LOOPS)

    assert work("many", 4 * LOOPS) <= 1.1 * few
