"""`manage.py demo`: play recorded runs into the running server, or remove what was played."""

from __future__ import annotations

import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from recorder.demo.http_client import HttpClientError
from recorder.demo.player import AlreadyPlayingError, play, stage
from recorder.demo.remove import forget_demo
from recorder.management.named_projects import project_of
from recorder.management.progress_bar import Progress
from recorder.models import Project
from recorder.operations import audit, server_info

ACTOR = audit.command("demo")


class Command(BaseCommand):
    """Sends to the HTTP endpoint, as every agent does."""

    help = "Play about two minutes of agents at work into the running server."
    requires_system_checks: list[str] = []  # checks load every page; `make check` runs them

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare speed, server, project and removal."""
        parser.add_argument("--speed", type=float, default=1.0, help="2 is twice as fast")
        parser.add_argument("--fast", action="store_true", help="all at once, as if it had just ended")
        parser.add_argument("--url", help="the server; by default the one that runs on this data folder")
        parser.add_argument("--remove", action="store_true", help="remove all demo data instead")
        parser.add_argument("--project", default="default")

    def handle(
        self, *, speed: float, fast: bool, url: str | None, remove: bool, project: str, **_: Any
    ) -> None:
        """Play or remove."""
        found = project_of(project)
        if remove:
            self._remove(found)
            return
        if not speed > 0:
            raise CommandError("--speed is a number above 0")
        self._play(found, url or self._address(), None if fast else speed)

    def _remove(self, project: Project) -> None:
        with transaction.atomic():
            sessions = forget_demo(project)
            audit.record(project, ACTOR, "demo.remove", project.slug, before={"sessions": sessions})
        self.stdout.write(f"{sessions} demo sessions removed")

    def _address(self) -> str:
        url = server_info.address()
        if url is None:
            raise CommandError(
                f"no server runs on this data folder; start one with `{settings.COMMAND} up`, or give --url"
            )
        return url

    def _play(self, project: Project, url: str, speed: float | None) -> None:
        progress = Progress(sys.stderr, 1, "seconds")

        def on_progress(at: float, length: float) -> None:
            progress.total = int(length)
            progress.advance(int(at) - progress.done, "playing")

        try:
            with stage(project, speed) as token:
                audit.record(project, ACTOR, "demo.play", project.slug)
                events = play(url, token, speed=speed, on_progress=on_progress)
        except (AlreadyPlayingError, HttpClientError) as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            raise CommandError(
                f"stopped; `{settings.COMMAND} demo --remove` removes what was played"
            ) from None
        finally:
            progress.close()
        self.stdout.write(f"{events} events played; `{settings.COMMAND} demo --remove` removes them")
