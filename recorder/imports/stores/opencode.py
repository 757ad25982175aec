"""Imports the store of OpenCode: the lines of each session, under the name of the session."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from loopscope_client.transcripts.opencode import sessions
from recorder.imports.report import Report, UnusableError
from recorder.imports.stores.sqlite_snapshot import opened
from recorder.imports.submit import Sender
from recorder.models import Project

FORM = "opencode"
LINES = 500  # of one transaction


def import_opencode(
    project: Project, path: Path, report: Report, on_progress: Callable[[int], None], *, flush: bool
) -> None:
    """Import a store; the same session again sends the same numbers, so only new messages are stored."""
    try:
        with opened(path) as store:
            for session, lines in sessions(store):
                sender = Sender(project, f"{FORM}:{session}"[:200], report, form=FORM)
                for start in range(0, len(lines), LINES):
                    for rejected in sender.send(lines[start : start + LINES]):
                        report.reject(path, f"session {session}, line {rejected.seq + 1}", rejected)
                if flush:
                    sender.flush()
                sender.close()
    except UnusableError as error:
        report.problem(path, str(error))
    except sqlite3.DatabaseError as error:
        report.problem(path, f"the store cannot be read ({error}); what came before is imported")
    on_progress(path.stat().st_size)
