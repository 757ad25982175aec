"""What the tables hold of loops that are withdrawn and gone."""

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from recorder.core.context import JournalLine
from recorder.core.formats.native import parse
from recorder.core.recorder import Recorder
from recorder.core.records import ORIGIN_DERIVED, EventRecord
from recorder.core.state_keys import state_keys_of
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import LoopRecord, ParallelGroupRecord, Session
from recorder.projection import store
from tests.support import build

pytestmark = pytest.mark.django_db(transaction=True)


def send(project, *events):
    ingest(Batch(project.pk, "p", None, [build.line(event) for event in events]))


def remove(project, loop_ids):
    """Withdraw loops as our readers do; return the number of queries that saving it takes."""
    gone = [build.ours("LoopWithdrawn", loop_id, session_id="s", is_gone=True) for loop_id in loop_ids]
    with CaptureQueriesContext(connection) as queries:
        record(project, gone)
    assert not LoopRecord.objects.filter(loop_id__in=loop_ids).exists()
    return len(queries)


def record(project, gone):
    """Record events that our readers derive; return the invalidation."""
    lines = [
        JournalLine(100 + number, 1, build.NINE, "phi-core", parse(build.line(event)), origin=ORIGIN_DERIVED)
        for number, event in enumerate(gone)
    ]
    with transaction.atomic():
        state = store.load_state(project.pk, state_keys_of(lines), frozenset())
        found = Recorder(state).feed(*lines)
        changes = [
            change for change in found if not isinstance(change, EventRecord)
        ]  # their lines are no rows
        return store.save(project.pk, changes)


@pytest.mark.parametrize("has_ended", [False, True])
def test_a_group_loses_its_judge_with_the_loop(project, has_ended):
    send(project, build.parallel_start("s.a.1", "s.b.2"), *build.small_loop("s.judge", text="Branch 1."))
    if has_ended:
        send(project, build.parallel_end("s.a.1"))
    assert ParallelGroupRecord.objects.get().judge.loop_id == "s.judge"

    remove(project, ["s.judge"])

    assert ParallelGroupRecord.objects.get().judge is None


def test_ten_times_the_loops_are_removed_by_as_many_queries(project):
    few, many = [f"s.few.{number}" for number in range(3)], [f"s.many.{number}" for number in range(30)]
    send(project, build.agent_start("s.a.1"), *(build.agent_start(loop_id) for loop_id in (*few, *many)))

    assert remove(project, many) == remove(project, few)


def test_the_invalidation_has_the_session_that_takes_the_lines_of_one_without_loops(project):
    send(project, *(event for name in "stu" for event in build.small_loop(f"{name}.a.1")))
    s, t, u = Session.objects.order_by("session_id").values_list("pk", flat=True)

    touched = record(
        project,
        [
            build.ours("LoopWithdrawn", f"{name}.a.1", session_id=name, is_gone=True, moved_to=into)
            for name, into in ("st", "tu")
        ],
    )

    assert touched.moved == {s: u, t: u}
    assert Session.objects.get().pk == u
