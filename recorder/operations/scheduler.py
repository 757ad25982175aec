"""Daily jobs at fixed times: commands of `manage.py`, run by the server in processes of their own.

Of several nodes one runs a job: whoever gets its lease in the database. What was due while no server ran is
made up for at the next start; a job that fails is tried again, later each time.
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
from recorder.database.errors import STORE_ERRORS
from recorder.models import DailyJob

log = logging.getLogger(__name__)

LOOK_S = 15.0
LEASE = timedelta(minutes=5)
RENEW_S = 60.0
LONGEST_PAUSE = timedelta(hours=1)
NICE = 10  # how much a job gives way to the server
SAID = 500


@dataclass(frozen=True, slots=True)
class Job:
    """`manage.py <name>`, once a day; it must be safe to run twice, and to be killed."""

    name: str
    at: time  # UTC

    def due_since(self, now: datetime) -> datetime:
        """Return when it was last due."""
        today = datetime.combine(now.date(), self.at, UTC)
        return today if today <= now else today - timedelta(days=1)


CONSOLIDATE = Job("consolidate", time(3, 0))
JOBS = (CONSOLIDATE, Job("prune", time(3, 30)))


def ask(job: Job, now: datetime) -> None:
    """Have a job run within seconds, on whatever node looks first."""
    _known(job, now)
    DailyJob.objects.filter(name=job.name).update(asked_at=now, try_at=None)


def note(job: Job, began: datetime) -> None:
    """Note that somebody ran a job by hand, and when that began."""
    _known(job, began)
    DailyJob.objects.filter(name=job.name).update(done_at=began, begun_at=began)


def take(job: Job, now: datetime, holder: str) -> bool:
    """Take the lease of a job that is due; False if it is not, or another has it."""
    _known(job, now)
    is_due = Q(done_at__lt=job.due_since(now)) | Q(asked_at__isnull=False)
    is_free = Q(held_until=None) | Q(held_until__lte=now)
    may_try = Q(try_at=None) | Q(try_at__lte=now)
    rows = DailyJob.objects.filter(is_due, is_free, may_try, name=job.name)
    if not rows.exists():  # an update that changes nothing would still wait for its turn to write
        return False
    return rows.update(holder=holder, held_until=now + LEASE, begun_at=now) == 1


def renew(job: Job, now: datetime, holder: str) -> bool:
    """Hold the lease for longer; False if another took it, because this node was silent for too long."""
    return _held(job, holder).update(held_until=now + LEASE) == 1


def give_back(job: Job, holder: str) -> None:
    """Give the lease back as if the job had not begun."""
    _held(job, holder).update(held_until=None)


def settle(job: Job, now: datetime, holder: str, *, is_done: bool, said: str) -> None:
    """Give the lease back: the job is done until it is due again, or is tried again in 1, 2, 4 minutes."""
    for row in _held(job, holder):
        row.held_until, row.said = None, clean(said, SAID)
        if is_done:
            row.done_at = row.begun_at or now
            row.failures, row.try_at = 0, None
            DailyJob.objects.filter(pk=row.pk, asked_at__lte=row.done_at).update(asked_at=None)
        else:
            row.try_at = now + min(LONGEST_PAUSE, timedelta(minutes=2 ** min(row.failures, 10)))
            row.failures += 1
        row.save(update_fields=("held_until", "said", "done_at", "failures", "try_at"))


class Clock:
    """The thread of a server that runs what is due. Whatever happens in it, the server goes on."""

    def __init__(self, jobs: tuple[Job, ...] = JOBS) -> None:
        self._jobs = jobs
        self._holder = f"{socket.gethostname()[:60]} {os.getpid()} {secrets.token_hex(4)}"
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="clock", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout: float | None = None) -> None:
        """End what runs; it is taken up again at the next start, or by another node."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(timeout)

    def look(self) -> None:
        """Run what is due, one job after the other."""
        for job in self._jobs:
            if not self._stopping.is_set() and take(job, datetime.now(UTC), self._holder):
                self._work(job)

    def _run(self) -> None:
        is_away = False
        while not self._stopping.wait(LOOK_S):
            try:
                self.look()
                is_away = False
            except STORE_ERRORS as error:
                if not is_away:
                    log.warning("the clock cannot ask the database, and tries again: %s", error)
                is_away = True
            except Exception:
                log.exception("a bug of ours disturbs the clock")
            finally:
                connection.close()

    def _work(self, job: Job) -> None:
        asked = [sys.executable, "-m", "django", job.name, "--no-color"]
        with tempfile.TemporaryFile() as output:
            child = subprocess.Popen(  # noqa: S603  our own words
                asked, cwd=settings.BASE, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, child.pid, NICE)
            is_ours = self._wait(job, child)
            output.seek(max(0, output.tell() - SAID * 4))
            said = _last_line(output.read())
        if not is_ours:
            give_back(job, self._holder)
            return
        if child.returncode:
            log.warning("the daily job %s failed and is tried again: %s", job.name, said)
        else:
            log.info("the daily job %s is done: %s", job.name, said)
        settle(job, datetime.now(UTC), self._holder, is_done=child.returncode == 0, said=said)

    def _wait(self, job: Job, child: subprocess.Popen[bytes]) -> bool:
        """Hold the lease until the job has ended; False if it was ended because it is not ours any more."""
        since = datetime.now(UTC)
        while child.poll() is None:
            if self._stopping.wait(0.2):
                return _end(child)
            now = datetime.now(UTC)
            if now - since > timedelta(seconds=RENEW_S):
                since = now
                with suppress(*STORE_ERRORS):  # the lease outlasts a few of these
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


def _known(job: Job, now: datetime) -> None:
    """See to it that a job has a row: what was due before anybody knew of it does not count."""
    DailyJob.objects.get_or_create(name=job.name, defaults={"done_at": now})


def _held(job: Job, holder: str) -> QuerySet[DailyJob]:
    return DailyJob.objects.filter(name=job.name, holder=holder, held_until__isnull=False)
