"""`manage.py export_session`: one session on stdout, as phi-core would save it or as its recorded lines."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from recorder.journal.read import Pruned
from recorder.models import Session
from recorder.projection.export import phi_text, raw_lines


class Command(BaseCommand):
    """Writes to stdout alone, so that it can be piped."""

    help = "Write a session to stdout."
    requires_system_checks: list[str] = []  # they load every page; `make check` runs them

    def add_arguments(self, parser: CommandParser) -> None:
        """Name the session and the shape wanted."""
        parser.add_argument("session_id")
        parser.add_argument("--as", choices=("phi-session", "events"), default="phi-session", dest="shape")
        parser.add_argument("--project", default="default")

    def handle(self, *, session_id: str, shape: str, project: str, **_: Any) -> None:
        """Write it."""
        session = Session.objects.filter(project__slug=project, session_id=session_id).first()
        if session is None:
            raise CommandError(f"project {project!r} has no session {session_id!r}")
        try:
            self._write(session, shape)
        except Pruned as error:
            raise CommandError(f"{error}: the session cannot be exported whole") from error

    def _write(self, session: Session, shape: str) -> None:
        if shape == "phi-session":
            self.stdout.write(phi_text(session))
            return
        for line in raw_lines(session):
            self.stdout.write(line.decode())  # accepted lines are UTF-8
