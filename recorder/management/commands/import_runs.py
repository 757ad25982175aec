"""`manage.py import_runs`: record event files and session files that were written elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from recorder.batch import Busy
from recorder.imports.files import FORMATS
from recorder.imports.report import UnusableError
from recorder.imports.run import import_files
from recorder.models import Project


class Command(BaseCommand):
    """Everything that can be read is imported; the exit status says whether that was everything."""

    help = "Import event files (.jsonl, .ndjson, packed or not), phi-core session files (.json) and folders."

    def add_arguments(self, parser: CommandParser) -> None:
        """Name the paths and what they hold."""
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument("--format", choices=FORMATS, default="auto", dest="wanted")
        parser.add_argument("--project", default="default")
        parser.add_argument(
            "--no-flush",
            action="store_false",
            dest="flush",
            help="leave loops that did not end open: the file is still being written",
        )

    def handle(self, *, paths: list[Path], wanted: str, project: str, flush: bool, **_: Any) -> None:
        """Import, then say what was found."""
        try:
            found = Project.objects.get(slug=project)
            report = import_files(found, paths, wanted, sys.stderr, flush=flush)
        except Project.DoesNotExist as error:
            raise CommandError(f"there is no project {project!r}; see `manage.py project list`") from error
        except UnusableError as error:
            raise CommandError(str(error)) from error
        except Busy as busy:
            reason = "its disk is full" if busy.code == "disk_full" else "another process holds it"
            raise CommandError(
                f"the database takes nothing now: {reason}. What was imported stays; import again later"
            ) from busy
        for problem in report.problems:
            self.stderr.write(problem)
        for line in report.lines():
            self.stdout.write(line)
        if not report.is_clean:
            raise CommandError("not everything could be imported")
