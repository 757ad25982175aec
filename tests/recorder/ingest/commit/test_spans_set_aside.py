"""Acknowledged spans that cannot be read are set aside: those of others are recorded, also after restarts."""

import itertools
import subprocess
import sys
import threading
from io import StringIO

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from recorder.access import tokens
from recorder.ingest.commit import bisect, span_backlog, unreadable_spans
from recorder.ingest.commit.span_backlog import Backlog
from recorder.ingest.commit.writer import Writer
from recorder.models import AccessToken, AuditEntry, LoopRecord, WaitingSpans
from tests.recorder.ingest.commit.test_waiting_spans import body, span_line, stored_lines
from tests.support.wait import LONGEST_S, until

POISON = span_line(2)


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def poison(monkeypatch):
    """Let what is given happen where the poisoned span is read, until `poison.clear()`."""
    record, happens = bisect.record, []

    def poisoned(batches, unread=None):
        if happens and any(POISON in batch.lines for batch in batches):
            happens[-1]()
        return record(batches, unread)

    monkeypatch.setattr(bisect, "record", poisoned)
    return happens


@pytest.fixture
def timers(monkeypatch):
    """Return what rings the limits that begin from now on: when the test says so, and not after a time."""
    rings = []

    class Timer:
        def __init__(self, _seconds, ring):
            rings.append(ring)

        def start(self):
            pass

        cancel = start

    monkeypatch.setattr(unreadable_spans.threading, "Timer", Timer)
    return rings


def killed():
    raise Killed


def failed():
    raise ZeroDivisionError


def endless():
    for _ in itertools.count():
        pass


def read_by_a_process(backlog=None):
    """Read all that waits as a new process does; return whether it was killed."""
    backlog = backlog or Backlog()
    attempts = bisect.Attempts(backlog)
    backlog.hurry(60)
    try:
        while backlog.is_due():
            backlog.done(attempts.write(backlog.next()))
    except Killed:
        return True
    return False


def set_aside():
    return list(WaitingSpans.objects.filter(set_aside_at__isnull=False))


def store(project, *numbers, **more):
    Backlog().store([body(project, [span_line(number)], **more) for number in numbers])


def test_a_body_whose_reading_three_processes_did_not_finish_is_set_aside(project, poison):
    store(project, 1, 2, 3, 4)
    poison.append(killed)

    assert read_by_a_process(), "with all others"
    assert not stored_lines()
    assert read_by_a_process(), "alone"
    assert stored_lines() == [span_line(1)], "the body before it was read"
    assert read_by_a_process(), "alone again"
    assert not set_aside()
    store(project, 5)
    assert not read_by_a_process()

    assert stored_lines() == [span_line(number) for number in (1, 3, 4, 5)], "in order"
    (row,) = set_aside()
    assert bytes(row.lines) == POISON
    assert row.fault == unreadable_spans.UNFINISHED


def test_a_body_that_one_killed_process_was_reading_is_read_by_the_next(project, poison):
    store(project, 1, 2, 3)
    poison.append(killed)
    assert read_by_a_process()
    poison.clear()

    assert not read_by_a_process()

    assert stored_lines() == [span_line(number) for number in (1, 2, 3)]
    assert not WaitingSpans.objects.exists()


def test_a_busy_store_is_not_counted_as_a_beginning(project, poison, monkeypatch):
    monkeypatch.setattr(span_backlog, "RETRY_S", 0)
    store(project, 2)
    backlog = Backlog()
    backlog.hurry(60)
    for _ in range(3):
        assert backlog.is_due()
        backlog.next()
        assert WaitingSpans.objects.get().begun == 1
        backlog.done([span_backlog.Busy("disk_full")])
        assert WaitingSpans.objects.get().begun == 0


def test_a_body_on_which_even_storing_its_line_fails_is_set_aside_at_once(project, poison):
    store(project, 1, 2, 3)
    poison.append(failed)

    assert not read_by_a_process()

    assert stored_lines() == [span_line(1), span_line(3)]
    (row,) = set_aside()
    assert row.fault.startswith("Reading it failed: ZeroDivisionError, traceback ")


def test_reading_that_takes_too_long_is_stopped_and_the_writer_serves_others(project, poison, timers):
    def endless_with_an_alarm():
        threading.Thread(target=timers[-1]).start()
        endless()

    store(project, 1, 2, 3)
    poison.append(endless_with_an_alarm)
    writer = Writer()
    writer.start()

    until(set_aside)
    receipt = async_to_sync(writer.submit)(body(project, [span_line(4)]))
    until(lambda: not WaitingSpans.objects.filter(set_aside_at=None).exists())
    writer.close()

    assert receipt.accepted == 1
    assert sorted(stored_lines()) == [span_line(number) for number in (1, 3, 4)]
    assert set_aside()[0].fault == "Reading it took longer than 120 s."


def test_no_limit_is_left_behind_by_what_ends_in_time():
    for seconds in (0, 60):
        with unreadable_spans.time_limit(seconds):
            assert seconds == 0 or threading.active_count() > 1
    with pytest.raises(unreadable_spans.TooLong), unreadable_spans.time_limit(0.01):
        endless()


def test_a_limit_that_has_rung_leaves_the_interpreter_as_it_was():
    """Under a profiler the first call never ended while Python looked for an exception in vain."""
    code = (
        "import itertools, sys\n"
        "from recorder.ingest.commit import unreadable_spans\n"
        "try:\n"
        "    with unreadable_spans.time_limit(0.001):\n"
        "        for _ in itertools.count(): pass\n"
        "except unreadable_spans.TooLong:\n"
        "    sys.setprofile(lambda *_: None)\n"
        "    (lambda: print('ended'))()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=LONGEST_S
    )
    assert done.stdout == "ended\n", done.stderr


def test_a_limit_that_rings_behind_its_block_is_met_before_the_next_statement(timers, monkeypatch):
    stop = unreadable_spans._Alarm.stop

    def stop_late(alarm):
        timers[-1]()
        stop(alarm)

    monkeypatch.setattr(unreadable_spans._Alarm, "stop", stop_late)
    with unreadable_spans.time_limit(60):
        pass
    assert sum(1 for _ in range(10_000)) == 10_000


def test_the_integrity_page_names_token_sender_and_reason(project, poison):
    tokens.issue(project, "build server", ["ingest"])
    store(project, 2, token=AccessToken.objects.get().pk, address="192.0.2.7")
    poison.append(failed)
    read_by_a_process()
    user = User.objects.create_user("reader")
    project.memberships.create(user=user)
    client = Client()
    client.force_login(user)

    for query in ("", "?list=spans", "?list=spans&producer=build+server"):
        page = client.get(f"/p/{project.slug}/integrity{query}").content.decode()
        for shown in ("Spans set aside", "build server", "192.0.2.7", "Reading it failed: ZeroDivisionError"):
            assert shown in page, (query, shown)
        assert "No problems." not in page


def test_the_command_lists_and_reads_again_what_is_set_aside(project, poison):
    store(project, 1, 2)
    poison.append(failed)
    read_by_a_process()
    (row,) = set_aside()
    out = StringIO()
    call_command("spans", "list", stdout=out)
    assert out.getvalue().startswith(f"{row.pk}\t{project.slug}\ttoken 0\t-\t")
    with pytest.raises(CommandError, match="1 could not be read"):
        call_command("spans", "retry", stdout=out)
    with pytest.raises(CommandError, match="no spans are set aside under"):
        call_command("spans", "retry", str(row.pk + 1), stdout=out)
    assert set_aside() == [row]
    poison.clear()

    call_command("spans", "retry", str(row.pk), stdout=out)

    assert out.getvalue().endswith(f"{row.pk}: read\n")
    entry = AuditEntry.objects.get(action="spans.retry")
    assert (entry.project, entry.actor, entry.target) == (project, "spans", str(row.pk))
    assert not WaitingSpans.objects.exists()
    assert LoopRecord.objects.get().turns == 2
