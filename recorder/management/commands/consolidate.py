"""`manage.py consolidate`: extract insights from ended loops."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from recorder.insights.consolidate import consolidate, waiting
from recorder.management.named_projects import project_of
from recorder.management.progress_bar import Progress
from recorder.operations import scheduler


class Command(BaseCommand):
    """May run beside the server. An interrupted run is continued by the next one."""

    help = "Extract insights (procedures, solutions of errors, facts) from ended loops and mark their events."
    requires_system_checks: list[str] = []  # checks load every page; `make check` runs them

    def add_arguments(self, parser: CommandParser) -> None:
        """Name the project."""
        parser.add_argument("--project", help="by default every project")

    def handle(self, *, project: str | None, **_: Any) -> None:
        """Consolidate."""
        found = None if project is None else project_of(project)
        began = datetime.now(UTC)
        progress = Progress(sys.stderr, waiting(found), "loops")
        try:
            done = consolidate(found, progress.advance)
        finally:
            progress.close()
        if found is None:
            scheduler.record_manual_run(scheduler.CONSOLIDATE, began)
        self.stdout.write(str(done))
