"""`manage.py import_runs`: record event files, session files and stores that were written elsewhere."""

from __future__ import annotations

import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from loopscope_client.transcripts.files import last_write, walk
from recorder.core.events.fields import visible
from recorder.core.records import Json
from recorder.database.errors import Busy
from recorder.imports.detect import recordings
from recorder.imports.import_files import IMPORTERS, import_files
from recorder.imports.report import Report, UnusableError
from recorder.imports.transcripts.file_cache import FileCache
from recorder.management.named_projects import project_of
from recorder.management.progress_bar import Progress
from recorder.models import Project
from recorder.operations import audit

POLL_S = 1.0
WRITTEN_S = 600  # a file that changed within so many seconds may be continued
States = list[tuple[str, int, int]]  # path, size and time of change of files


class Command(BaseCommand):
    """Imports everything that can be read; the exit status is 0 only without a problem."""

    help = (
        "Import event files (.jsonl, .ndjson, .sse, also gzipped), phi-core session files (.json), "
        "SQLite stores of cagent, aidaemon and OpenCode, transcripts of coding agents, "
        "OTLP bodies (.json, .pb, also gzipped), and folders of them."
    )
    requires_system_checks: list[str] = []  # checks load every page; `make check` runs them

    def add_arguments(self, parser: CommandParser) -> None:
        """Name the paths and what they hold."""
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument("--format", choices=("auto", *IMPORTERS), default="auto", dest="wanted")
        parser.add_argument("--project", default="default")
        parser.add_argument(
            "--no-flush",
            action="store_false",
            dest="flush",
            help="leave loops that did not end open: the file is still being written",
        )

        parser.add_argument(
            "--again",
            action="store_true",
            dest="is_again",
            help="read all files, also those that have not changed since they were imported",
        )
        parser.add_argument(
            "--follow",
            action="store_true",
            help="continue with lines added to the files, until Ctrl-C or SIGTERM; unended loops stay open",
        )

    def handle(self, *, paths: list[Path], project: str, flush: bool, follow: bool, **options: Any) -> None:
        """Import, then say what was found."""
        wanted: str = options["wanted"]
        is_again: bool = options["is_again"]
        seen = _state(paths)  # before the first import: what is added meanwhile is a change
        is_clean = self._import(project, paths, wanted, flush=flush and not follow, is_again=is_again)
        if follow:
            is_clean &= self._follow(project, paths, wanted, seen)
        if not is_clean:
            raise CommandError("not everything could be imported")

    def _follow(self, project: str, paths: list[Path], wanted: str, seen: States) -> bool:
        is_clean, stopped = True, Event()
        signals = signal.SIGINT, signal.SIGTERM
        before = {number: signal.signal(number, lambda *_: stopped.set()) for number in signals}
        try:
            while not stopped.wait(POLL_S):  # polled: other programs write these files
                if (now := _state(paths)) != seen:
                    seen = now
                    is_clean &= self._import(project, paths, wanted, flush=False, is_again=True)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        return is_clean

    def _import(self, project: str, paths: list[Path], wanted: str, *, flush: bool, is_again: bool) -> bool:
        """Import once; say whether there was no problem."""
        try:
            report = _import(project_of(project), paths, wanted, flush=flush, is_again=is_again)
        except UnusableError as error:
            raise CommandError(str(error)) from error
        except Busy as busy:
            reason = "its disk is full" if busy.code == "disk_full" else "another process holds it"
            raise CommandError(
                f"the database cannot be written now: {reason}. What was imported stays; import again later"
            ) from busy
        for line in (*report.problems, *report.notes):
            self.stderr.write(visible(line))
        for line in report.lines():
            self.stdout.write(visible(line))
        return report.is_clean


def _import(project: Project, paths: list[Path], wanted: str, *, flush: bool, is_again: bool) -> Report:
    """Find the files to import, and import them under a progress bar. Raises Busy."""
    report = Report()
    cache = None if is_again else FileCache(project, wanted)
    try:
        found = recordings(paths, wanted, report, cache)
        progress = Progress(sys.stderr, sum(each.size for each in found), "bytes")
        import_files(
            project, found, report, progress.advance, flush=flush, is_written=_is_written, cache=cache
        )
        progress.close()
    finally:
        if cache is not None:
            cache.close()
    if report.events:
        after: Json = {"files": report.files, "sessions": report.sessions, "events": report.events}
        audit.record(project, audit.command("import_runs"), "import", str(paths[0].name), after=after)
    return report


def _is_written(path: Path) -> bool:
    """Return whether a file changed so lately that its program may go on with it."""
    changed = max(last_write(path), last_write(path.with_name(f"{path.name}-wal"))) / 1e9
    return abs(time.time() - changed) < WRITTEN_S


def _state(paths: list[Path]) -> States:
    """Return what changes when a file does, a store's write-ahead log included."""
    inside = [each for path in paths for each in (walk(path, []) if path.is_dir() else (path,))]
    logs = [path.with_name(f"{path.name}-wal") for path in paths if path.is_file()]
    states = []
    for path in sorted({*inside, *logs}):
        with suppress(OSError):
            stat = path.stat()
            states.append((str(path), stat.st_size, stat.st_mtime_ns))
    return states
