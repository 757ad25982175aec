"""`manage.py reprice`: bill recorded calls again at the prices that hold now."""

from __future__ import annotations

import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from recorder.management.named_projects import project_of
from recorder.management.progress_bar import Progress
from recorder.models import Repricing, Turn
from recorder.operations import audit
from recorder.pricing import backfill


class Command(BaseCommand):
    """May run beside the server. The server or the next run continues an interrupted one."""

    help = "Bill all recorded calls, or those of one model at a provider, again at the prices that hold now."
    requires_system_checks: list[str] = []  # checks load every page; `make check` runs them

    def add_arguments(self, parser: CommandParser) -> None:
        """Name the project and the model."""
        parser.add_argument("--project", default="default")
        parser.add_argument("--model", help="by default every model")
        parser.add_argument("--provider", help="of that model")

    def handle(self, *, project: str, model: str | None, provider: str | None, **_: Any) -> None:
        """Reprice."""
        if bool(model) != bool(provider):
            raise CommandError("name a model and its provider, or neither")
        found = project_of(project)
        pair = (model, provider) if model and provider else None
        with transaction.atomic():
            job = backfill.request(found, pair, f"{settings.COMMAND} reprice")
            audit.record(found, audit.command("reprice"), "price.reprice", " ".join(pair or ("all",)))
        self._wait_for(job)
        changed = f"{job.changed:,} of {job.processed:,} calls have another cost"
        self.stdout.write(f"{project}: {changed}, {job.change_nano / 10**9:+,.6f} dollars in all")

    def _wait_for(self, job: Repricing) -> None:
        progress = Progress(sys.stderr, Turn.objects.filter(state="done").count(), "calls")
        try:
            while job.finished_at is None:
                done = job.processed
                backfill.step()
                job.refresh_from_db()
                progress.advance(job.processed - done, job.model)
        finally:
            progress.close()
