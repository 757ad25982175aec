"""Imports the store of OpenCode: the lines of each session, under the name of the session."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from loopscope_client.transcripts.long_lines import cut
from loopscope_client.transcripts.open_file import NotReadable
from loopscope_client.transcripts.opencode import AGENT, session_producer, sessions
from recorder.imports.recordings import begins_with, not_stored
from recorder.imports.report import Report, UnusableError
from recorder.imports.sqlite_snapshot import is_store, opened
from recorder.imports.submit import Sender
from recorder.imports.transcripts.transcript_file import import_transcript
from recorder.models import Producer, Project

LINES = 500  # of one transaction


def import_opencode(
    project: Project, path: Path, report: Report, on_progress: Callable[[int], None], *, flush: bool
) -> None:
    """Import a store; the same session again sends the same numbers, so only new messages are stored."""
    if not is_store(path):  # the lines of one session, as the read API gives them
        import_transcript(project, path, report, on_progress, form=AGENT, flush=flush)
        return
    try:
        with opened(path) as store:
            for session, lines in sessions(store, with_running=True):
                sender, new = _sender(project, session, [cut(line) for line in lines], report)
                for start in range(0, len(new), LINES):
                    for rejected in sender.send(new[start : start + LINES]):
                        report.reject(path, f"session {session}, line {rejected.seq + 1}", rejected)
                if flush:
                    sender.flush()
                sender.close()
    except (UnusableError, NotReadable) as error:
        report.problem(path, str(error))
    except sqlite3.DatabaseError as error:
        report.problem(path, f"the store cannot be read ({error}); what came before is imported")
    on_progress(path.stat().st_size)


def _sender(project: Project, session: str, lines: list[bytes], report: Report) -> tuple[Sender, list[bytes]]:
    """Return the sender of a session and the lines to send.

    An undone message leaves the store, and another takes its place: then what is new goes on after what is
    recorded.
    """
    name = session_producer(session)
    producer = Producer.objects.filter(project=project, name=name).first()
    if producer is None or begins_with(producer, iter(lines)):
        return Sender(project, name, report, form=AGENT), lines
    new = not_stored(producer, lines)
    report.duplicates += len(lines) - len(new)
    return Sender(project, name, report, form=AGENT, goes_on=True), new
