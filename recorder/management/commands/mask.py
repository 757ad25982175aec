"""`manage.py mask`: mask what is stored already by the rules of today."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from recorder.management.named_projects import projects_of
from recorder.management.progress_bar import Progress
from recorder.models import Project
from recorder.operations import deletion, server_info
from recorder.operations.audit import COMMAND
from recorder.operations.masking import history as masking_history
from recorder.search import deleted_words


class Command(BaseCommand):
    """Works in a transaction for each producer and day. An interrupted run is continued by the next one."""

    help = "Mask the lines that are stored already, and what was derived from them. Stop the server first."
    requires_system_checks: list[str] = []  # checks load every page; `make check` runs them

    def add_arguments(self, parser: CommandParser) -> None:
        """Name what is masked."""
        parser.add_argument("--history", action="store_true", required=True, help="rewrite stored lines")
        parser.add_argument("--project", help="by default every project")
        parser.add_argument("--dry-run", action="store_true", help="count, and change nothing")
        parser.add_argument("--force", action="store_true", help="although a server runs on this data folder")

    def handle(self, *, project: str | None, dry_run: bool, force: bool, **_: Any) -> None:
        """Mask."""
        if not (dry_run or force) and (pid := server_info.pid()):
            raise CommandError(f"the server runs (process {pid}); stop it first, or give --force")
        projects = projects_of(project)
        for each in projects:
            self._preview(each) if dry_run else self._mask(each)

    def _preview(self, project: Project) -> None:
        progress = Progress(sys.stderr, masking_history.lines(project), "lines")
        try:
            found = masking_history.preview(project, partial(progress.advance, label=project.slug))
        finally:
            progress.close()
        self.stdout.write(f"{project.slug}: {found.lines} lines would be changed{_rules(found.counts)}")
        self._say_others(found.records, found.notes, "would be masked")

    def _mask(self, project: Project) -> None:
        deletion.resume(project)
        progress = Progress(sys.stderr, masking_history.lines(project), "lines")
        try:
            done = masking_history.run(project, COMMAND, partial(progress.advance, label=project.slug))
        finally:
            progress.close()
        self.stdout.write(f"{project.slug}: {done.lines} lines changed{_rules(done.counts)}")
        self._say_others(done.records, done.notes, "masked")
        deleted_words.remove(project.pk)
        if done.rows or done.records or done.notes:
            self.stdout.write("run VACUUM on the database to remove the old text from its files")

    def _say_others(self, records: int, notes: int, what: str) -> None:
        if records:
            self.stdout.write(f"  and {records} records {what} in place, as bodies were pruned")
        if notes:
            self.stdout.write(f"  and {notes} notes, scores or bookmarks {what}")


def _rules(counts: Mapping[str, int]) -> str:
    return "".join(f"\n  {rule}: {number}" for rule, number in sorted(counts.items()))
