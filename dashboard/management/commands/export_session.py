"""`manage.py export_session`: one session on stdout, as phi-core would save it, as lines, spans or HTML."""

from __future__ import annotations

import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from dashboard.api.queries.notes import note_items
from dashboard.notes.export import notes_section
from dashboard.shared.session_file.document import html_file
from recorder.journal.read import Pruned
from recorder.management.named_projects import project_of
from recorder.models import Note, Session
from recorder.operations import audit
from recorder.projection.export import phi_text, raw_lines
from recorder.projection.otlp_export import Encoding, otlp_request

SHAPES = ("phi-session", "events", "otlp", "html")


class Command(BaseCommand):
    """Writes to stdout alone, so that it can be piped."""

    help = "Write a session to stdout."
    requires_system_checks: list[str] = []  # system checks load every page; `make check` runs them

    def add_arguments(self, parser: CommandParser) -> None:
        """Name the session and the shape wanted."""
        parser.add_argument("session_id")
        parser.add_argument("--as", choices=SHAPES, default="phi-session", dest="shape")
        parser.add_argument("--encoding", choices=("json", "protobuf"), help="of --as otlp; json by default")
        parser.add_argument(
            "--with-notes",
            action="store_true",
            help='of --as phi-session: {"session": …, "notes": […]}; an HTML file always has the notes',
        )
        parser.add_argument("--project", default="default")

    def handle(
        self,
        *,
        session_id: str,
        shape: str,
        encoding: Encoding | None,
        project: str,
        with_notes: bool = False,
        **_: Any,
    ) -> None:
        """Write it."""
        if with_notes and shape not in ("phi-session", "html"):
            raise CommandError("--with-notes is for --as phi-session: events and spans stay as recorded")
        if encoding is not None and shape != "otlp":
            raise CommandError("--encoding is for --as otlp: other shapes have one encoding")
        session = Session.objects.filter(project=project_of(project), session_id=session_id).first()
        if session is None:
            raise CommandError(f"project {project!r} has no session {session_id!r}")
        actor = audit.command("export_session")
        audit.record(session.project, actor, "session.export", session_id, after={"as": shape})
        try:
            if with_notes and shape == "phi-session":
                self._write_with_notes(session)
            else:
                self._write(session, shape, encoding or "json")
        except Pruned as error:
            raise CommandError(f"{error}: the session cannot be exported whole") from error
        except RecursionError as error:
            raise CommandError("a value is nested too deeply to write it; use --as events") from error

    def _write_with_notes(self, session: Session) -> None:
        rows = Note.objects.filter(project=session.project_id, session_id=session.session_id).order_by("pk")
        notes = [item.model_dump(mode="json") for item in note_items(session.project, list(rows))]
        self.stdout.write(f'{{"session":{phi_text(session)},"notes":{json.dumps(notes)}}}')

    def _write(self, session: Session, shape: str, encoding: Encoding) -> None:
        if shape == "otlp":
            for part in otlp_request(session, encoding):
                self._write_part(part, is_text=encoding == "json")
            return
        if shape == "phi-session":
            self.stdout.write(phi_text(session))
            return
        if shape == "html":
            for part in html_file(session, notes_section(session)):
                self._write_part(part, is_text=True)
            return
        for line in raw_lines(session):
            self.stdout.write(line.decode())  # accepted lines are UTF-8

    def _write_part(self, part: bytes, *, is_text: bool) -> None:
        if is_text:
            self.stdout.write(part.decode(), ending="")
        else:
            getattr(self.stdout, "buffer", sys.stdout.buffer).write(part)
