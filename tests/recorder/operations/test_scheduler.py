"""Daily jobs: a due job runs once on one node, and a failed one is retried."""

import sys
import threading
from datetime import UTC, datetime, time, timedelta

import pytest
from django.db import connection

from recorder.models import DailyJob
from recorder.operations import scheduler
from recorder.operations.scheduler import LEASE, Job, Scheduler
from tests.support.wait import LONGEST_S, until

JOB = Job("check", time(3, 0))
FOUR = datetime(2026, 2, 11, 4, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)

pytestmark = pytest.mark.django_db


def row():
    return DailyJob.objects.get(name=JOB.name)


def done(at, holder="a"):
    """Run the job at a time."""
    assert scheduler.acquire(JOB, at, holder)
    scheduler.finish(JOB, at + MINUTE, holder, is_done=True, output="done")


def test_what_was_due_before_the_first_start_is_left():
    assert not scheduler.acquire(JOB, FOUR, "a")
    assert not scheduler.acquire(JOB, FOUR + 22 * HOUR, "a")
    assert scheduler.acquire(JOB, FOUR + 23 * HOUR, "a")


def test_a_job_runs_once_a_day():
    scheduler.acquire(JOB, FOUR, "a")
    done(FOUR + 23 * HOUR)

    assert not scheduler.acquire(JOB, FOUR + 24 * HOUR, "a")
    assert not scheduler.acquire(JOB, FOUR + 46 * HOUR, "b")
    assert scheduler.acquire(JOB, FOUR + 47 * HOUR, "b")


def test_what_was_missed_is_made_up_for_once():
    scheduler.acquire(JOB, FOUR, "a")

    done(FOUR + 9 * DAY)

    assert not scheduler.acquire(JOB, FOUR + 9 * DAY + HOUR, "a")


def test_one_node_has_the_lease_until_it_is_silent_for_too_long():
    scheduler.acquire(JOB, FOUR, "a")
    at = FOUR + DAY
    assert scheduler.acquire(JOB, at, "a")

    assert not scheduler.acquire(JOB, at + MINUTE, "b")
    assert scheduler.renew(JOB, at + 3 * MINUTE, "a")
    assert not scheduler.acquire(JOB, at + LEASE + MINUTE, "b")
    assert scheduler.acquire(JOB, at + 3 * MINUTE + LEASE, "b")
    assert not scheduler.renew(JOB, at + 9 * MINUTE, "a")

    scheduler.finish(JOB, at + HOUR, "a", is_done=True, output="late")
    assert row().holder == "b"
    assert row().held_until is not None


def test_a_failure_is_tried_again_later_each_time():
    scheduler.acquire(JOB, FOUR, "a")
    at, pauses = FOUR + DAY, []
    for _ in range(9):
        assert scheduler.acquire(JOB, at, "a")
        scheduler.finish(JOB, at, "a", is_done=False, output="no room")
        assert not scheduler.acquire(JOB, at + MINUTE - timedelta(seconds=1), "b")
        pauses.append((row().try_at - at) / MINUTE)
        at = row().try_at

    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert (row().failures, row().output) == (9, "no room")
    done(at)
    assert (row().failures, row().try_at) == (0, None)


def test_who_asks_need_not_wait_for_the_hour():
    scheduler.acquire(JOB, FOUR, "a")
    scheduler.request(JOB, FOUR + MINUTE)

    done(FOUR + 2 * MINUTE)

    assert not scheduler.acquire(JOB, FOUR + 3 * MINUTE, "a")


def test_who_asks_while_it_runs_is_heard_afterwards():
    scheduler.request(JOB, FOUR)
    assert scheduler.acquire(JOB, FOUR, "a")
    scheduler.request(JOB, FOUR + MINUTE)
    assert not scheduler.acquire(JOB, FOUR + MINUTE, "b")
    scheduler.finish(JOB, FOUR + 2 * MINUTE, "a", is_done=True, output="")

    done(FOUR + 3 * MINUTE, "b")


def test_due_times_are_utc_and_in_order():
    assert JOB.due_since(FOUR) == FOUR - HOUR
    assert JOB.due_since(FOUR - 2 * HOUR) == FOUR - HOUR - DAY


@pytest.mark.django_db(transaction=True)
def test_of_many_nodes_that_look_at_once_one_runs_it():
    scheduler.acquire(JOB, FOUR, "a")
    taken, gate = [], threading.Barrier(8)

    def look(node):
        gate.wait()
        if scheduler.acquire(JOB, FOUR + DAY, f"node {node}"):
            taken.append(node)
        connection.close()

    threads = [threading.Thread(target=look, args=(node,)) for node in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(taken) == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("name", "failures", "expected"), [("check", 0, "no issues"), ("chekc", 1, "for usage")]
)
def test_a_job_is_a_command_of_its_own_whose_end_is_noted(name, failures, expected):
    job = Job(name, time(3, 0))
    scheduler.request(job, datetime.now(UTC))

    Scheduler((job,)).poll()

    daily_job = DailyJob.objects.get(name=name)
    assert daily_job.failures == failures
    assert expected in daily_job.output
    assert daily_job.held_until is None
    assert (daily_job.requested_at is None) is (failures == 0)


@pytest.mark.django_db(transaction=True)
def test_a_server_that_stops_ends_the_job_and_lets_another_have_it(monkeypatch, tmp_path):
    endless = tmp_path / "python"
    endless.write_text("#!/bin/sh\nexec sleep 600\n")
    endless.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(endless))
    scheduler.request(JOB, datetime.now(UTC))
    running = Scheduler((JOB,))
    thread = threading.Thread(target=lambda: (running.poll(), connection.close()))
    thread.start()
    until(lambda: DailyJob.objects.exclude(holder="").exists())

    running.stop()
    thread.join(LONGEST_S)

    assert not thread.is_alive()
    assert scheduler.acquire(JOB, datetime.now(UTC), "another")


def test_an_internal_error_is_logged_and_the_scheduler_goes_on(monkeypatch, caplog):
    monkeypatch.setattr(scheduler, "POLL_S", 0.01)
    looks = threading.Semaphore(0)

    def broken(*_):
        looks.release()
        raise ZeroDivisionError

    monkeypatch.setattr(scheduler, "acquire", broken)
    running = Scheduler((JOB,))
    running.start()
    assert looks.acquire(timeout=LONGEST_S)
    assert looks.acquire(timeout=LONGEST_S)
    running.stop(5)

    assert "internal error in the scheduler" in caplog.text
