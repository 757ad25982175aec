"""The progress of derived tables of each project, and the lock that lets one node at a time change them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.db import connection
from django.db.models import Max, Min

from recorder.database import sql
from recorder.models import JournalEvent, LedgerState, Producer, Project, WasteState


@dataclass(frozen=True, slots=True)
class Cursors:
    """The cursors in one table. Another version of the rules begins the derived tables anew."""

    model: type[LedgerState] | type[WasteState]
    version: int
    lock_key: int  # of our PostgreSQL advisory lock

    def lock(self) -> None:
        """Keep other nodes off until the transaction ends; SQLite has one writer anyway."""
        if connection.vendor == "postgresql":
            sql.read("SELECT 1 FROM pg_advisory_xact_lock(%s)", self.lock_key)

    def try_lock(self) -> bool:
        """Take the lock if no other node has it; return whether it is taken."""
        if connection.vendor != "postgresql":
            return True
        return bool(sql.read("SELECT pg_try_advisory_xact_lock(%s)", self.lock_key)[0][0])

    def by_project(self) -> dict[int, int] | None:
        """Return the cursor of each project; None if one has none yet or has that of other rules."""
        states = {found.project_id: found for found in self.model.objects.all()}
        projects = set(Project.objects.values_list("pk", flat=True))
        if states.keys() != projects or any(found.version != self.version for found in states.values()):
            return None
        return {project: found.cursor for project, found in states.items()}

    def ensure_all(self, forget: Callable[[int], None]) -> None:
        """Begin every project that has no cursor; `forget` what other rules made and begin it anew."""
        rows = self.model.objects
        states = {found.project_id: found for found in rows.all()}
        for project in Project.objects.values_list("pk", flat=True):
            found = states.get(project)
            if found is None:
                has_lines = Producer.objects.filter(project=project).exists()
                cursor = 0 if has_lines else rows.aggregate(last=Max("cursor"))["last"] or 0
                rows.create(project_id=project, cursor=cursor, version=self.version)
            elif found.version != self.version:
                forget(project)
                rows.filter(project=project).update(version=self.version)

    def advance(self, upto: int) -> None:
        """Note that the lines up to one are behind the cursor of every project."""
        self.model.objects.filter(cursor__lt=upto).update(cursor=upto)

    def begin_anew(self, project: int) -> None:
        """Set the cursor of a project to its first line."""
        self.model.objects.filter(project=project).update(cursor=0)

    def waiting(self) -> int:
        """Return how many lines no cursor has passed."""
        cursor = self.model.objects.aggregate(cursor=Min("cursor"))["cursor"] or 0
        return JournalEvent.objects.filter(pk__gt=cursor).count()
