"""Of the loops above those that lines name, what cycles are found by is loaded, and no more."""

import pytest

from recorder.core.context import JournalLine
from recorder.core.formats.native import parse
from recorder.core.state_keys import state_keys_of
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Project
from recorder.projection import store
from tests.support import build
from tests.support.count_calls import count_lines

pytestmark = pytest.mark.django_db
LOOPS = 30


def continued(name, loops):
    """Record loops that continue each other; return the work of loading what the next one needs."""
    project = Project.objects.create(slug=name).pk
    ids = [f"{name}.a.{number}" for number in range(loops + 1)]
    parents = [None, *ids]
    starts = [
        build.line(build.agent_start(loop_id, parent=parent, at=at))
        for at, (loop_id, parent) in enumerate(zip(ids, parents, strict=False))
    ]
    ingest(Batch(project, name, None, starts[:-1]))
    keys = state_keys_of([JournalLine(0, 1, build.NINE, "phi-core", parse(starts[-1]))])
    return count_lines(lambda: store.load_state(project, keys))


def test_four_times_the_loops_that_continue_each_other_take_little_more_work():
    continued("first", 1)  # some lines run once in a process
    few = continued("few", LOOPS)

    assert continued("many", 4 * LOOPS) <= 1.4 * few
