"""Daily job scheduler: runs `manage.py` commands at fixed times, each in its own process.

One node runs a job: the one that acquires its lease, a row in the database. A job that was due while no
server ran is run at the next start; a failed job is retried with exponential back-off.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from django.conf import settings
from django.db import connection
from django.db.models import Q, QuerySet

from recorder.core.content.text import clean
from recorder.database.errors import STORE_ERRORS, Busy
from recorder.models import DailyJob
from recorder.operations import deletion
from recorder.operations.span_silence import mark_silent
from recorder.search import deleted_words

log = logging.getLogger(__name__)

POLL_S = 15.0
LEASE = timedelta(minutes=5)
RENEW_S = 60.0
INTERRUPTED = timedelta(minutes=5)  # a deletion that began so long ago and is not finished
MAX_BACKOFF = timedelta(hours=1)
NICE = 10  # process priority: lower than the server's
OUTPUT_CHARS = 500  # kept of a job's last line


@dataclass(frozen=True, slots=True)
class Job:
    """The command `manage.py <name>`, once a day; it must be safe to run twice and to kill at any time."""

    name: str
    at: time  # UTC
    words: tuple[str, ...] = ()  # after the name

    @property
    def command(self) -> tuple[str, ...]:
        """Return the words of the command; options of every command come before an action."""
        return self.name, "--no-color", *self.words

    def due_since(self, now: datetime) -> datetime:
        """Return the last time it was due."""
        today = datetime.combine(now.date(), self.at, UTC)
        return today if today <= now else today - timedelta(days=1)


CONSOLIDATE = Job("consolidate", time(3, 0))
DELETE_PROJECTS = Job("project", time(4, 0), ("resume",))
JOBS = (CONSOLIDATE, Job("prune", time(3, 30)), DELETE_PROJECTS)


def request(job: Job, now: datetime) -> None:
    """Request a run within POLL_S, on the node that polls first."""
    _ensure_row(job, now)
    DailyJob.objects.filter(name=job.name).update(requested_at=now, try_at=None)


def record_manual_run(job: Job, began: datetime) -> None:
    """Record a run that a user started by hand at `began`."""
    _ensure_row(job, began)
    DailyJob.objects.filter(name=job.name).update(done_at=began, begun_at=began)


def acquire(job: Job, now: datetime, holder: str) -> bool:
    """Acquire the lease of a job that is due; False if it is not due or another node holds it."""
    _ensure_row(job, now)
    is_due = Q(done_at__lt=job.due_since(now)) | Q(requested_at__isnull=False)
    is_free = Q(held_until=None) | Q(held_until__lte=now)
    may_try = Q(try_at=None) | Q(try_at__lte=now)
    rows = DailyJob.objects.filter(is_due, is_free, may_try, name=job.name)
    if not rows.exists():  # an UPDATE without effect would still wait for the write lock
        return False
    return rows.update(holder=holder, held_until=now + LEASE, begun_at=now) == 1


def renew(job: Job, now: datetime, holder: str) -> bool:
    """Extend the lease; False if it expired and another node acquired it."""
    return _lease(job, holder).update(held_until=now + LEASE) == 1


def release(job: Job, holder: str) -> None:
    """Release the lease as if the job had not started."""
    _lease(job, holder).update(held_until=None)


def finish(job: Job, now: datetime, holder: str, *, is_done: bool, output: str) -> None:
    """Release the lease: the job is done until it is due again, or is retried after 1, 2, 4 ... minutes."""
    for row in _lease(job, holder):
        row.held_until, row.output = None, clean(output, OUTPUT_CHARS)
        if is_done:
            row.done_at = row.begun_at or now
            row.failures, row.try_at = 0, None
            DailyJob.objects.filter(pk=row.pk, requested_at__lte=row.done_at).update(requested_at=None)
        else:
            row.try_at = now + min(MAX_BACKOFF, timedelta(minutes=2 ** min(row.failures, 10)))
            row.failures += 1
        row.save(update_fields=("held_until", "output", "done_at", "failures", "try_at"))


class Scheduler:
    """The server's thread that runs due jobs. An error in it never stops the server."""

    def __init__(self, jobs: tuple[Job, ...] = JOBS) -> None:
        self._jobs = jobs
        self._holder = f"{socket.gethostname()[:60]} {os.getpid()} {secrets.token_hex(4)}"
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="scheduler", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout: float | None = None) -> None:
        """Stop the running job; it runs again at the next start or on another node."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(timeout)

    def poll(self) -> None:
        """Abort the loops of silent traces, then run the jobs that are due, one after the other."""
        with suppress(Busy):  # tried again at the next poll
            mark_silent(datetime.now(UTC))
            deletion.resume(before=datetime.now(UTC) - INTERRUPTED)
            deleted_words.remove()
        for job in self._jobs:
            if not self._stopping.is_set() and acquire(job, datetime.now(UTC), self._holder):
                self._execute(job)

    def _run(self) -> None:
        is_away = False
        while not self._stopping.wait(POLL_S):
            try:
                self.poll()
                is_away = False
            except STORE_ERRORS as error:
                if not is_away:
                    log.warning("the scheduler cannot reach the database and retries: %s", error)
                is_away = True
            except Exception:
                log.exception("internal error in the scheduler")
            finally:
                connection.close()

    def _execute(self, job: Job) -> None:
        command = [sys.executable, "-m", "django", *job.command]
        with tempfile.TemporaryFile() as output:
            child = subprocess.Popen(  # noqa: S603  our own command
                command, cwd=settings.BASE, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, child.pid, NICE)
            is_ours = self._wait(job, child)
            output.seek(max(0, output.tell() - OUTPUT_CHARS * 4))
            last_line = _last_line(output.read())
        if not is_ours:
            release(job, self._holder)
            return
        if child.returncode:
            log.warning("the daily job %s failed and will be retried: %s", job.name, last_line)
        else:
            log.info("the daily job %s is done: %s", job.name, last_line)
        finish(job, datetime.now(UTC), self._holder, is_done=child.returncode == 0, output=last_line)

    def _wait(self, job: Job, child: subprocess.Popen[bytes]) -> bool:
        """Renew the lease until the job ends; False if the job was stopped because the lease was lost."""
        since = datetime.now(UTC)
        while child.poll() is None:
            if self._stopping.wait(0.2):
                return _end(child)
            now = datetime.now(UTC)
            if now - since > timedelta(seconds=RENEW_S):
                since = now
                with suppress(*STORE_ERRORS):  # the lease outlasts several failed renewals
                    if not renew(job, now, self._holder):
                        return _end(child)
        return True


def _end(child: subprocess.Popen[bytes]) -> bool:
    child.terminate()
    child.wait()
    return False


def _last_line(output: bytes) -> str:
    lines = output.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""


def _ensure_row(job: Job, now: datetime) -> None:
    """Create the job's row if needed; runs that were due before that do not count."""
    DailyJob.objects.get_or_create(name=job.name, defaults={"done_at": now})


def _lease(job: Job, holder: str) -> QuerySet[DailyJob]:
    return DailyJob.objects.filter(name=job.name, holder=holder, held_until__isnull=False)
