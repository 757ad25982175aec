"""The steps by which derived tables follow the journal: in order, one transaction each, one node at a time.

A step reads what ended with the lines after the cursor, and writes what follows from it, with the cursor.
Sessions that are marked are made again first. So the tables depend on journal and records only, not on when
and where a step ran.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from django.db import connection, transaction

from recorder.database import sql
from recorder.database.errors import STORE_ERRORS, Busy, StoreError
from recorder.follower.cursors import Cursors
from recorder.journal.commit_order import CommittedLines
from recorder.models import LedgerRedo, Session, WasteRedo

log = logging.getLogger(__name__)

WINDOW = 4_000  # lines looked at in a step


class End(Protocol):
    """A line that ends something, with the primary keys of its session and project."""

    @property
    def line(self) -> int: ...

    @property
    def session(self) -> int: ...

    @property
    def project(self) -> int: ...


class Derived(Protocol):
    """Tables that follow the journal."""

    name: str  # of them, in the log
    at_once: int  # ends that are read and written together
    cursors: Cursors

    @property
    def marks(self) -> type[LedgerRedo] | type[WasteRedo]:
        """Return the table of sessions that are to be made again."""

    def begin(self) -> None:
        """Begin projects that have no cursor."""

    def ends_between(self, after: int, upto: int) -> Sequence[Any]:
        """Return what ended with the lines after one, up to another, in order."""

    def add(self, ends: Sequence[Any]) -> None:
        """Write what follows from these ends. The caller holds the lock, in a transaction."""

    def make_again(self, mark: Any, upto: int, *, is_pruned: bool) -> None:
        """Make a marked session again from its lines up to one. The caller holds the lock."""

    def forget_session(self, session: int) -> None:
        """Delete what was derived of a session."""


class Steps:
    """Runs steps. One a process, in the writer thread or in a command.

    While another node has the lock a writer goes on with its work, and a command waits (`is_patient`).
    """

    def __init__(self, derived: Derived, *, is_patient: bool = False) -> None:
        self._derived, self._cursors = derived, derived.cursors
        self._is_patient = is_patient
        self._committed: CommittedLines | None = None
        self.is_behind = True  # as far as known: there is something to do
        self.touched: dict[int, set[int]] = {}  # sessions that changed by project; callers empty it

    def run(self, step: Callable[[], bool], is_interrupted: Callable[[], bool], seconds: float) -> None:
        """Step until nothing is left, somebody waits, or so many seconds have passed.

        Errors are logged, and what failed is tried again when something else is recorded, or soon without
        that. Raises StoreError.
        """
        until = time.monotonic() + seconds
        try:
            while step() and not is_interrupted() and time.monotonic() < until:
                pass
        except StoreError:
            raise
        except (Busy, *STORE_ERRORS) as error:
            log.warning("the %s could not be made: %s", self._derived.name, error)
            self._committed, self.is_behind = None, False
            connection.close()
        except Exception:
            log.exception("the %s could not be made", self._derived.name)
            self.is_behind = False

    def step(self) -> bool:
        """Take the next lines, or make a session again; False when nothing is left or another node works."""
        cursors = self._cursors.by_project()
        if cursors is None:
            with transaction.atomic():
                self._cursors.lock()
                self._derived.begin()
            return True
        if self._derived.marks.objects.exists() and self._make_again():
            return True
        start, last = min(cursors.values(), default=0), self._last()
        self.is_behind = bool(cursors) and start < last
        return self.is_behind and self._follow(cursors, start, last)

    def _follow(self, cursors: Mapping[int, int], start: int, last: int) -> bool:
        upto = min(start + WINDOW, last)
        found = self._derived.ends_between(start, upto)
        ends = [end for end in found if end.line > cursors.get(end.project, 0)]
        if len(ends) > self._derived.at_once:
            del ends[self._derived.at_once :]
            upto = ends[-1].line
        with transaction.atomic():
            if not self._lock():
                return False
            if self._cursors.by_project() != cursors:  # another node was faster
                return True
            self._derived.add(ends)
            self._cursors.advance(upto)
        self._touch((end.project, end.session) for end in ends)
        return True

    def _make_again(self) -> bool:
        """Make a session again, up to the cursor of its project. False if none can be now.

        A session that another transaction is marking is left for later: waiting for it with the lock would
        be a deadlock with a rebuild.
        """
        with transaction.atomic():
            marks = self._derived.marks.objects.select_for_update(skip_locked=True)
            mark = marks.order_by("pk").first()
            if mark is None or not self._lock():
                return False
            cursors = self._cursors.by_project()  # another node may have advanced before the lock
            if cursors is None:  # a new project begins first
                return False
            session = mark.session
            mark.delete()
            mark.session = session
            found = Session.objects.filter(pk=session).values_list("project_id", "pruned_on").first()
            if found is None:
                self._derived.forget_session(session)
                return True
            project, pruned_on = found
            upto = cursors.get(project, 0)
            self._derived.make_again(mark, upto, is_pruned=pruned_on is not None)
        self._touch([(project, session)])
        return True

    def _lock(self) -> bool:
        if self._is_patient:
            self._cursors.lock()
            return True
        self.is_behind = self._cursors.try_lock()  # else another node is at work
        return self.is_behind

    def _touch(self, found: Iterable[tuple[int, int]]) -> None:
        """Note sessions that changed, with their projects."""
        for project, session in found:
            self.touched.setdefault(project, set()).add(session)

    def _last(self) -> int:
        """Return the last line below which none can appear any more."""
        if connection.vendor != "postgresql":
            return int(sql.read("SELECT COALESCE(MAX(id), 0) FROM recorder_journalevent")[0][0])
        if self._committed is None:
            self._committed = CommittedLines()
        self._committed.lines()
        return self._committed.floor if self._committed.is_settled else 0
