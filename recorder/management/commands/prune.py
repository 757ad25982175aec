"""`manage.py prune`: apply the retention of projects."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from recorder.management.progress_bar import Progress
from recorder.models import Project, Pruning
from recorder.operations import retention
from recorder.operations.integrity_check import QUARANTINE_DAYS

NOT_CONSOLIDATED = f"nothing is pruned before it is consolidated: run `{settings.COMMAND} consolidate`"


class Command(BaseCommand):
    """Works in small transactions beside the server. An interrupted run is continued by the next one."""

    help = (
        "Delete the bodies of lines that are older than their project's retention, and rejected lines older "
        f"than {QUARANTINE_DAYS} days. Records and totals stay."
    )
    requires_system_checks: list[str] = []  # they load every page; `make check` runs them

    def add_arguments(self, parser: CommandParser) -> None:
        """Name the project."""
        parser.add_argument("--project", help="by default every project")

    def handle(self, *, project: str | None, **_: Any) -> None:
        """Remove them."""
        projects = Project.objects.filter(slug=project) if project else Project.objects.order_by("pk")
        if project and not projects:
            raise CommandError(f"there is no project {project!r}; see `{settings.COMMAND} project list`")
        now = timezone.now()
        bodies = sum(self._prune(each, now) for each in projects)
        refused = retention.prune_quarantine(now - timedelta(days=QUARANTINE_DAYS))
        gone = _number(bodies, "body", "bodies"), _number(refused, "rejected line")
        self.stdout.write(f"removed: {' and '.join(gone)}")

    def _prune(self, project: Project, now: datetime) -> int:
        progress = Progress(sys.stderr, retention.due(project, now), "lines")
        try:
            done = retention.prune(project, now, lambda lines: progress.advance(lines, project.slug))
        finally:
            progress.close()
        self.stdout.write(f"{project.slug}: {_summary(done)}")
        return done.lines if done else 0


def _summary(done: Pruning | None) -> str:
    if done is None:
        return "bodies are never deleted"
    gone = f"{_number(done.lines, 'body', 'bodies')} pruned ({done.size:,} bytes)"
    text = f"{gone} received before {done.before:%Y-%m-%d}"
    kept = {
        "not consolidated": done.unconsolidated,
        "pinned": done.pinned,
        "open": done.open,
        "needed by others": done.needed,
    }
    if reasons := ", ".join(f"{number:,} {why}" for why, number in kept.items() if number):
        text += f"; kept: {reasons}"
    return f"{text}; {NOT_CONSOLIDATED}" if done.unconsolidated else text


def _number(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"
