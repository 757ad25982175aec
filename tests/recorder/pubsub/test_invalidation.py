"""Invalidations: their content, how they are merged, and those of commits of other processes."""

import json
import subprocess
import sys
from contextlib import contextmanager

import pytest
from django.conf import settings
from django.db import OperationalError, connection

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import JournalEvent, LoopRecord, Project, Session
from recorder.pubsub import commit_poller, invalidation
from recorder.pubsub.commit_poller import CommitPoller
from recorder.pubsub.invalidation import Invalidation, merge, unsubscribe
from tests.support.build import agent_start, line, message_update, tool_start, turn_start
from tests.support.wait import LONGEST_S

pytestmark = pytest.mark.django_db(transaction=True)
on_postgres = pytest.mark.skipif(
    "sqlite" in settings.DATABASES["default"]["ENGINE"], reason="SQLite commits in order of numbers"
)

LINES = [
    line(agent_start("s.a.1")),
    line(turn_start("s.a.1")),
    line(tool_start("s.a.1")),
    line(message_update("s.a.1")),
]
ELSEWHERE = """
import django, sys
django.setup()
from recorder.ingest.commit.pipeline import Batch, ingest
ingest(Batch(int(sys.argv[1]), sys.argv[2], None, [line.encode() for line in sys.argv[3:]]))
"""

SLOW = """
import django, sys
django.setup()
from django.db import transaction
from recorder.ingest.commit.pipeline import Batch, ingest
with transaction.atomic():
    ingest(Batch(int(sys.argv[1]), "slow", None, [line.encode() for line in sys.argv[2:]]))
    print("written", flush=True)
    input()
"""


def test_invalidations_of_a_project_are_merged():
    first = Invalidation(1, sessions={1}, loops={2: 1}, events={5: 2})
    second = Invalidation(1, sessions={3}, reshaped={3}, loops={4: 3}, events={6: 4}, quarantined=True)

    whole = merge([first, second])

    assert (whole.sessions, whole.reshaped) == ({1, 3}, {3})
    assert (whole.loops, whole.events) == ({2: 1, 4: 3}, {5: 2, 6: 4})
    assert whole.quarantined
    assert first == Invalidation(1, sessions={1}, loops={2: 1}, events={5: 2})


def test_an_invalidation_passes_between_processes_as_json():
    touched = Invalidation(1, sessions={1, 2}, loops={2: 1}, tools={7: 0}, quarantined=True)

    assert Invalidation.of(json.loads(json.dumps(touched.message()))) == touched


def test_one_that_listens_no_more_hears_nothing(invalidations):
    invalidation.publish(Invalidation(1))
    unsubscribe(invalidations.append)
    invalidation.publish(Invalidation(2))

    assert invalidations == [Invalidation(1)]


def test_the_invalidation_of_polled_lines_equals_that_of_own_lines(project, invalidations):
    ingest(Batch(project.pk, "p", 0, LINES))
    (own,) = invalidations
    ids = sorted(JournalEvent.objects.values_list("id", flat=True))

    (theirs,) = commit_poller.invalidations_of(ids)

    for part in ("sessions", "new_sessions", "reshaped", "loops", "turns", "tools", "blocks", "events"):
        assert getattr(theirs, part) == getattr(own, part), part


def test_a_flush_elsewhere_names_the_loops_it_ended(project):
    ingest(Batch(project.pk, "p", 0, LINES))
    ingest(Batch(project.pk, "p", None, [], flush=True))
    flush = JournalEvent.objects.get(kind="flush").pk

    (touched,) = commit_poller.invalidations_of([flush])

    assert touched.loops == {LoopRecord.objects.get().pk: Session.objects.get().pk}


def test_a_commit_of_another_process_is_published_here(project, invalidations, alone):
    watch = CommitPoller()
    watch.poll()
    ingest(Batch(project.pk, "own", 0, LINES[:1]))
    watch.poll()
    invalidations.clear()

    elsewhere(project, LINES[1:])
    watch.poll()
    watch.poll()
    watch.close()

    (touched,) = invalidations
    assert set(touched.events) == set(
        JournalEvent.objects.filter(producer__name="elsewhere").values_list("id", flat=True)
    )


@on_postgres
def test_a_line_that_commits_after_higher_ones_is_published_too(project, invalidations, alone):
    watch = CommitPoller()
    watch.poll()
    with slow(project, LINES[:1]) as commit:
        elsewhere(Project.objects.create(slug="other"), LINES)
        for _ in range(3):
            watch.poll()
        assert {line for touched in invalidations for line in touched.events} == lines_of("elsewhere")
        commit()
    for _ in range(3):
        watch.poll()
    watch.close()

    heard = [line for touched in invalidations for line in touched.events]
    assert set(heard) == lines_of("elsewhere", "slow")
    assert min(lines_of("slow")) < min(lines_of("elsewhere"))
    assert len(heard) == len(set(heard)) == len(LINES) + 1


@on_postgres
def test_a_line_whose_invalidation_was_lost_is_published_by_the_next_poll(
    project, invalidations, monkeypatch
):
    monkeypatch.setattr(settings, "REDIS_URL", "redis://somewhere")
    watch = CommitPoller()
    watch.poll()
    with slow(project, LINES) as commit:
        watch.poll()
        watch.poll()
        commit()
    watch.poll()
    assert not invalidations, "its invalidation may still arrive"
    watch.poll()
    watch.close()

    assert {line for touched in invalidations for line in touched.events} == lines_of("slow")


@on_postgres
def test_who_was_writing_when_the_watch_began_is_drawn_when_they_end(project, invalidations, alone, missed):
    watch = CommitPoller()
    with slow(project, LINES) as commit:
        watch.poll()
        watch.poll()
        assert missed() == 1
        commit()
    watch.poll()
    watch.close()

    assert missed() == 2


def test_a_look_that_failed_has_every_page_drawn_when_the_store_is_back(
    project, invalidations, alone, missed
):
    watch = CommitPoller()
    watch.poll()
    with connection.execute_wrapper(out_of_order):
        watch.poll()
        watch.poll()
    assert missed() == 1
    elsewhere(project, LINES)

    watch.poll()
    watch.poll()
    watch.close()

    assert missed() == 2


def test_a_config_that_another_process_saw_first_is_named_once(project, invalidations, alone):
    watch = CommitPoller()
    watch.poll()
    config = {"model": "claude-sonnet-4-6", "provider": "anthropic"}
    for producer, loop in (("first", "s.a.1"), ("second", "t.a.1")):
        elsewhere(project, [line(agent_start(loop, config_snapshot=config))], producer)
        watch.poll()
    watch.close()

    assert [len(touched.configs) for touched in invalidations] == [1, 0]


@pytest.fixture
def alone(monkeypatch):
    """Disable Redis: commits of other processes are found by the first poll."""
    monkeypatch.setattr(settings, "REDIS_URL", "")


@pytest.fixture
def missed(monkeypatch):
    """Return how often all open pages were to be rendered again."""
    redraws = []
    monkeypatch.setattr(invalidation, "_gap_subscribers", [lambda: redraws.append(1)])
    return lambda: len(redraws)


def out_of_order(*_):
    raise OperationalError


def lines_of(*producers):
    return set(JournalEvent.objects.filter(producer__name__in=producers).values_list("id", flat=True))


@contextmanager
def slow(project, lines):
    """Record lines in another process, which waits before it commits."""
    words = [str(project.pk), *(each.decode() for each in lines)]
    command = [sys.executable, "-c", SLOW, *words]
    with subprocess.Popen(
        command, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "written\n"

            def commit():
                process.communicate("commit\n", timeout=LONGEST_S)
                assert process.returncode == 0

            yield commit
        finally:
            process.kill()  # else the test would wait for it for ever


def address():
    """Return the URL of the test database."""
    named = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{named['NAME']}"
    return f"postgres://{named['USER']}:{named['PASSWORD']}@{named['HOST']}:{named['PORT']}/{named['NAME']}"


def environment():
    return {
        "DJANGO_SETTINGS_MODULE": "dashboard.settings",
        "DATABASE_URL": address(),
        "LOOPSCOPE_DATA": str(settings.DATA),
    }


def elsewhere(project, lines, producer="elsewhere"):
    """Record lines in another process."""
    words = [str(project.pk), producer, *(each.decode() for each in lines)]
    subprocess.run([sys.executable, "-c", ELSEWHERE, *words], env=environment(), check=True)
