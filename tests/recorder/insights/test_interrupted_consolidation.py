"""Consolidation in several runs: batches, kills and concurrent runs do not change the result."""

import random
import threading

import pytest
from django.db import connection
from hypothesis import given, settings
from hypothesis import strategies as st

from recorder.insights.consolidate import consolidate
from recorder.models import EventRecord, Insight, InsightEvidence, JournalEvent, ReadLoop
from tests.recorder.insights.fixtures import learned, working
from tests.recorder.insights.projects import feed, quiet, world
from tests.recorder.interruptions import Kill, Killed

pytestmark = pytest.mark.django_db(transaction=True)


def test_killed_at_fifty_points_and_run_again_it_ends_as_if_undisturbed(fresh):
    undisturbed, killed = world(fresh()), world(fresh())
    statements = [0]

    def count(execute, sql, *rest):
        statements[0] += 1
        return execute(sql, *rest)

    with connection.execute_wrapper(count):
        consolidate(undisturbed, quiet)
    chances = random.Random(5)
    kills = 0
    while kills < 50:
        before = ReadLoop.objects.filter(project=killed).count()
        if before == ReadLoop.objects.filter(project=undisturbed).count():
            forget(killed)
        try:
            with connection.execute_wrapper(Kill(chances.randint(1, statements[0]))):
                consolidate(killed, quiet, loops=chances.randint(1, 8))
        except Killed:
            kills += 1
        assert_only_whole_loops(killed)
    consolidate(killed, quiet)

    assert learned(killed) == learned(undisturbed)
    assert learned(undisturbed)[0]


def forget(project):
    """Begin anew, so that there is something left to kill."""
    Insight.objects.filter(project=project).delete()
    ReadLoop.objects.filter(project=project).delete()
    JournalEvent.objects.filter(project=project).update(consolidated_at=None)


def assert_only_whole_loops(project):
    """No line is marked whose loop was not read, and no loop counts that was not noted."""
    marked = EventRecord.objects.filter(journal__project=project, journal__consolidated_at__isnull=False)
    read = set(ReadLoop.objects.filter(project=project).values_list("loop", flat=True))
    assert set(marked.exclude(loop=None).values_list("loop", flat=True)) <= read
    evidence = InsightEvidence.objects.filter(insight__project=project)
    assert set(evidence.values_list("loop", flat=True)) <= read


CALLS = st.lists(st.sampled_from(["read a", "edit a", "edit b!", "test", "test!", "commit"]), max_size=8)


@settings(max_examples=12)
@given(st.lists(CALLS, min_size=1, max_size=6), st.integers(1, 4), st.data())
def test_neither_chunks_nor_the_time_it_runs_at_change_what_is_learned(fresh, loops, size, data):
    together, apart = fresh(), fresh()
    streams = [working(f"s{n}.a.1", *calls) for n, calls in enumerate(loops)]
    feed(together, *streams)
    consolidate(together, quiet)

    for events in streams:
        cut = data.draw(st.integers(0, len(events)))
        feed(apart, events[:cut])
        consolidate(apart, quiet, loops=size)
        feed(apart, events[cut:])
    consolidate(apart, quiet, loops=size)

    assert learned(apart) == learned(together)


def test_two_at_once_learn_what_one_does(fresh):
    alone, both = world(fresh()), world(fresh())
    consolidate(alone, quiet)
    failed = []

    def work():
        try:
            consolidate(both, quiet, loops=2)
        except Exception as error:  # noqa: BLE001  a thread's error would be lost
            failed.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []
    assert learned(both) == learned(alone)


def test_again_it_does_nothing(fresh):
    project = world(fresh())
    first = consolidate(project, quiet)
    before = learned(project)

    second = consolidate(project, quiet)

    assert first.loops > 10
    assert str(second) == "0 loops read, 0 new insights, 0 events marked; facts: off"
    assert learned(project) == before
