"""An import: every file that can be read is recorded, every problem is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from recorder.imports.aidaemon import import_aidaemon
from recorder.imports.cagent import import_cagent
from recorder.imports.detect import Kind, Recording
from recorder.imports.event_file import import_events
from recorder.imports.phi_session import import_sessions
from recorder.imports.report import OnProgress, Report
from recorder.journal.batch import Mixed
from recorder.models import Project

READ: dict[Kind, Callable[..., None]] = {
    "native": import_events,
    "phi-session": import_sessions,
    "cagent": partial(import_events, form="cagent"),
    "cagent-db": import_cagent,
    "aidaemon": partial(import_events, form="aidaemon"),
    "aidaemon-db": import_aidaemon,
    "grida": partial(import_events, form="grida"),
}


def import_files(
    project: Project,
    found: Iterable[Recording],
    report: Report,
    on_progress: OnProgress,
    *,
    flush: bool,
) -> None:
    """Import the files that `detect.recordings` found; add what came of each to `report`.

    `on_progress` gets the bytes read since its last call and the name of the file.
    """
    for each in found:
        read = READ[each.kind]
        try:
            read(project, each.path, report, partial(on_progress, label=each.path.name), flush=flush)
        except OSError as error:
            report.problem(each.path, error.strerror or str(error))
            continue
        except Mixed as mixed:
            report.problem(
                each.path, f"{mixed}; import the file in the format in which it was imported before"
            )
            continue
        report.files += 1
