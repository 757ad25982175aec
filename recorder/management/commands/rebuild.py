"""`manage.py rebuild`: derive every record again from the journal."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from recorder.management.named_projects import projects_of
from recorder.management.progress_bar import Progress
from recorder.models import JournalEvent, Project
from recorder.operations import audit, deletion, server_info
from recorder.projection.rebuild import BodiesPruned, rebuild


class Command(BaseCommand):
    """One transaction for each project: an interrupted rebuild changes nothing."""

    help = "Derive all records again from the journal. Stop the server first."
    requires_system_checks: list[str] = []  # checks load every page; `make check` runs them

    def add_arguments(self, parser: CommandParser) -> None:
        """Name the project."""
        parser.add_argument("--project", help="by default every project")
        parser.add_argument("--force", action="store_true", help="although a server runs on this data folder")

    def handle(self, *, project: str | None, force: bool, **_: Any) -> None:
        """Rebuild."""
        if not force and (pid := server_info.pid()):
            raise CommandError(f"the server runs (process {pid}); stop it first, or give --force")
        projects = projects_of(project)
        for each in projects:
            deletion.resume(each)
            self._rebuild(each)

    def _rebuild(self, project: Project) -> None:
        lines = JournalEvent.objects.filter(project=project).count()
        progress = Progress(sys.stderr, lines, "lines")
        try:
            with transaction.atomic():
                unreadable = rebuild(project, partial(progress.advance, label=project.slug))
                audit.record(
                    project, audit.command("rebuild"), "rebuild", project.slug, after={"lines": lines}
                )
        except BodiesPruned as error:
            raise CommandError(str(error)) from error
        finally:
            progress.close()
        self.stdout.write(f"{project.slug}: rebuilt from {lines} lines")
        if unreadable:
            raise CommandError(f"{unreadable} lines of {project.slug} could not be read and were left out")
