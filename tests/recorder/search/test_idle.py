"""Indexing in the idle time of the writer, and its share of the time under full load."""

import asyncio

import pytest

from recorder.ingest.commit.pipeline import Batch
from recorder.ingest.commit.writer import Writer
from recorder.models import SearchDocument
from recorder.pubsub import invalidation
from recorder.search import pace
from recorder.search.idle import IdleIndexing
from recorder.search.pace import Pace, Share
from tests.support import build
from tests.support.wait import until


class Clock:
    def __init__(self, monkeypatch):
        self.now = self.cpu = self.began = 100.0
        monkeypatch.setattr(pace.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(pace.time, "process_time", lambda: self.cpu)

    @property
    def elapsed(self):
        return self.now - self.began

    def pass_time(self, seconds, computing=0.0):
        self.now += seconds
        self.cpu += computing


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def test_an_idle_process_indexes_all_the_time(clock):
    load = Pace()
    share = Share(load)
    for _ in range(5):
        clock.pass_time(1, computing=0.9)
        share.ran(0.8)
        assert share.may_run()
    assert not load.is_busy


def test_a_busy_process_gives_each_kind_of_work_a_small_share_of_the_time(clock):
    load = Pace()
    shares = [Share(load), Share(load), Share(load)]
    steps = [0, 0, 0]
    for _ in range(1_000):
        clock.pass_time(0.1, computing=0.1)
        for kind, share in enumerate(shares):  # always in this order, as the writer asks
            if share.may_run() and load.is_busy:
                steps[kind] += 1
                clock.pass_time(0.1, computing=0.1)
                share.ran(0.1)
    assert load.is_busy
    most = pace.SHARE * clock.elapsed
    assert all(most / 2 < each * 0.1 <= most + 0.2 for each in steps)


def test_a_writer_that_waits_for_the_disk_is_busy(clock):
    load = Pace()
    clock.pass_time(1, computing=0.1)
    load.wrote(0.9)
    load.measure()
    assert load.is_busy


def test_a_process_that_does_not_index_waits_as_long_as_it_would(settings):
    settings.LOOPSCOPE_SEARCH = False
    assert IdleIndexing().due_in_s(0.25) == 0.25


@pytest.mark.django_db(transaction=True)
def test_the_writer_indexes_what_it_wrote_and_publishes_it(project, settings):
    settings.LOOPSCOPE_SEARCH = True
    writer, published = Writer(), []
    invalidation.subscribe(published.append)
    try:
        message = {"type": "MessageEnd", "loop_id": "s.a.1", "message": build.user("alpha")}
        lines = [build.line(event) for event in (build.agent_start("s.a.1"), message)]
        asyncio.run(writer.submit(Batch(project.pk, "p", None, lines)))
        found = SearchDocument.objects.filter(project=project, kind=SearchDocument.PROMPT)
        until(lambda: any(each.indexed for each in published))
        assert found.exists()
        assert {each.project for each in published if each.indexed} == {project.pk}
    finally:
        invalidation.unsubscribe(published.append)
        writer.close()
