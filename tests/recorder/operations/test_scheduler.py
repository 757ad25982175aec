"""The clock of daily jobs: what is due runs once on one node, and what fails is tried again."""

import sys
import threading
from datetime import UTC, datetime, time, timedelta

import pytest
from django.db import connection

from recorder.models import DailyJob
from recorder.operations import scheduler
from recorder.operations.scheduler import LEASE, Clock, Job

JOB = Job("check", time(3, 0))
FOUR = datetime(2026, 2, 11, 4, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)

pytestmark = pytest.mark.django_db


def row():
    return DailyJob.objects.get(name=JOB.name)


def done(at, holder="a"):
    """Run the job at a time."""
    assert scheduler.take(JOB, at, holder)
    scheduler.settle(JOB, at + MINUTE, holder, is_done=True, said="done")


def test_what_was_due_before_the_first_start_is_left():
    assert not scheduler.take(JOB, FOUR, "a")
    assert not scheduler.take(JOB, FOUR + 22 * HOUR, "a")
    assert scheduler.take(JOB, FOUR + 23 * HOUR, "a")


def test_a_job_runs_once_a_day():
    scheduler.take(JOB, FOUR, "a")
    done(FOUR + 23 * HOUR)

    assert not scheduler.take(JOB, FOUR + 24 * HOUR, "a")
    assert not scheduler.take(JOB, FOUR + 46 * HOUR, "b")
    assert scheduler.take(JOB, FOUR + 47 * HOUR, "b")


def test_what_was_missed_is_made_up_for_once():
    scheduler.take(JOB, FOUR, "a")

    done(FOUR + 9 * DAY)

    assert not scheduler.take(JOB, FOUR + 9 * DAY + HOUR, "a")


def test_one_node_has_the_lease_until_it_is_silent_for_too_long():
    scheduler.take(JOB, FOUR, "a")
    at = FOUR + DAY
    assert scheduler.take(JOB, at, "a")

    assert not scheduler.take(JOB, at + MINUTE, "b")
    assert scheduler.renew(JOB, at + 3 * MINUTE, "a")
    assert not scheduler.take(JOB, at + LEASE + MINUTE, "b")
    assert scheduler.take(JOB, at + 3 * MINUTE + LEASE, "b")
    assert not scheduler.renew(JOB, at + 9 * MINUTE, "a")

    scheduler.settle(JOB, at + HOUR, "a", is_done=True, said="late")
    assert row().holder == "b"
    assert row().held_until is not None


def test_a_failure_is_tried_again_later_each_time():
    scheduler.take(JOB, FOUR, "a")
    at, pauses = FOUR + DAY, []
    for _ in range(9):
        assert scheduler.take(JOB, at, "a")
        scheduler.settle(JOB, at, "a", is_done=False, said="no room")
        assert not scheduler.take(JOB, at + MINUTE - timedelta(seconds=1), "b")
        pauses.append((row().try_at - at) / MINUTE)
        at = row().try_at

    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert (row().failures, row().said) == (9, "no room")
    done(at)
    assert (row().failures, row().try_at) == (0, None)


def test_who_asks_need_not_wait_for_the_hour():
    scheduler.take(JOB, FOUR, "a")
    scheduler.ask(JOB, FOUR + MINUTE)

    done(FOUR + 2 * MINUTE)

    assert not scheduler.take(JOB, FOUR + 3 * MINUTE, "a")


def test_who_asks_while_it_runs_is_heard_afterwards():
    scheduler.ask(JOB, FOUR)
    assert scheduler.take(JOB, FOUR, "a")
    scheduler.ask(JOB, FOUR + MINUTE)
    assert not scheduler.take(JOB, FOUR + MINUTE, "b")
    scheduler.settle(JOB, FOUR + 2 * MINUTE, "a", is_done=True, said="")

    done(FOUR + 3 * MINUTE, "b")


def test_due_times_are_utc_and_in_order():
    assert JOB.due_since(FOUR) == FOUR - HOUR
    assert JOB.due_since(FOUR - 2 * HOUR) == FOUR - HOUR - DAY


@pytest.mark.django_db(transaction=True)
def test_of_many_nodes_that_look_at_once_one_runs_it():
    scheduler.take(JOB, FOUR, "a")
    taken, gate = [], threading.Barrier(8)

    def look(node):
        gate.wait()
        if scheduler.take(JOB, FOUR + DAY, f"node {node}"):
            taken.append(node)
        connection.close()

    threads = [threading.Thread(target=look, args=(node,)) for node in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(taken) == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("name", "failures", "said"), [("check", 0, "no issues"), ("chekc", 1, "for usage")])
def test_a_job_is_a_command_of_its_own_whose_end_is_noted(name, failures, said):
    job = Job(name, time(3, 0))
    scheduler.ask(job, datetime.now(UTC))

    Clock((job,)).look()

    kept = DailyJob.objects.get(name=name)
    assert kept.failures == failures
    assert said in kept.said
    assert kept.held_until is None
    assert (kept.asked_at is None) is (failures == 0)


@pytest.mark.django_db(transaction=True)
def test_a_server_that_stops_ends_the_job_and_lets_another_have_it(monkeypatch, tmp_path):
    endless = tmp_path / "python"
    endless.write_text("#!/bin/sh\nexec sleep 600\n")
    endless.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(endless))
    scheduler.ask(JOB, datetime.now(UTC))
    running = Clock((JOB,))
    thread = threading.Thread(target=lambda: (running.look(), connection.close()))
    thread.start()
    while not DailyJob.objects.exclude(holder="").exists():
        thread.join(0.05)

    running.stop()
    thread.join(10)

    assert not thread.is_alive()
    assert scheduler.take(JOB, datetime.now(UTC), "another")


def test_a_bug_in_it_is_logged_and_the_clock_goes_on(monkeypatch, caplog):
    monkeypatch.setattr(scheduler, "LOOK_S", 0.01)
    looks = threading.Semaphore(0)

    def broken(*_):
        looks.release()
        raise ZeroDivisionError

    monkeypatch.setattr(scheduler, "take", broken)
    running = Clock((JOB,))
    running.start()
    assert looks.acquire(timeout=5)
    assert looks.acquire(timeout=5)
    running.stop(5)

    assert "a bug of ours disturbs the clock" in caplog.text
