"""Imports files: every readable one is recorded, and every problem is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from recorder.core.formats.registry import OTLP, SENT
from recorder.imports.detect import Recording
from recorder.imports.event_file import import_events
from recorder.imports.otlp_bodies import import_bodies
from recorder.imports.phi_session import import_sessions
from recorder.imports.report import OnProgress, Report
from recorder.imports.stores.aidaemon import import_aidaemon
from recorder.imports.stores.cagent import import_cagent
from recorder.imports.stores.opencode import import_opencode
from recorder.journal.batch import Mixed
from recorder.models import Project

IMPORTERS: Mapping[str, Callable[..., None]] = {
    **{name: partial(import_events, form=name) for name in SENT},
    "phi-session": import_sessions,
    "cagent-db": import_cagent,
    "aidaemon-db": import_aidaemon,
    OTLP: import_bodies,
    "opencode": import_opencode,
}


def import_files(
    project: Project,
    found: Iterable[Recording],
    report: Report,
    on_progress: OnProgress,
    *,
    flush: bool,
) -> None:
    """Import the files that `detect.recordings` found; add the result of each to `report`.

    `on_progress` gets the bytes read since its last call and the name of the file.
    """
    for each in found:
        read = IMPORTERS[each.kind]
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
