"""`manage.py reprice`: price every past call again, by the prices that hold now."""

from __future__ import annotations

import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from recorder.management.progress_bar import Progress
from recorder.models import Project, Repricing, Turn
from recorder.pricing import backfill


class Command(BaseCommand):
    """Works while the server runs. Broken off, the server or the next call of the command goes on."""

    help = "Price all recorded calls again by the prices that hold now, or those of one model at a provider."

    def add_arguments(self, parser: CommandParser) -> None:
        """Name the project and the model."""
        parser.add_argument("--project", default="default")
        parser.add_argument("--model", help="by default every model")
        parser.add_argument("--provider", help="of that model")

    def handle(self, *, project: str, model: str | None, provider: str | None, **_: Any) -> None:
        """Reprice."""
        if bool(model) != bool(provider):
            raise CommandError("name a model and its provider, or neither")
        found = Project.objects.filter(slug=project).first()
        if found is None:
            raise CommandError(f"there is no project {project!r}; see `{settings.COMMAND} project list`")
        pair = (model, provider) if model and provider else None
        asked = backfill.request(found, pair, f"{settings.COMMAND} reprice")
        self._wait_for(asked)
        changed = f"{asked.changed:,} of {asked.looked_at:,} calls have another cost"
        self.stdout.write(f"{project}: {changed}, {asked.change_nano / 10**9:+,.6f} dollars in all")

    def _wait_for(self, asked: Repricing) -> None:
        progress = Progress(sys.stderr, Turn.objects.filter(state="done").count(), "calls")
        try:
            while asked.finished_at is None:
                done = asked.looked_at
                backfill.step()
                asked.refresh_from_db()
                progress.advance(asked.looked_at - done, asked.model)
        finally:
            progress.close()
