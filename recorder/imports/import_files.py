"""Imports files: every readable one is recorded, and every problem is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from recorder.core.events.fields import visible
from recorder.core.formats.registry import SENT, TRANSCRIPTS
from recorder.core.sources import OTLP
from recorder.imports.detect import Recording
from recorder.imports.event_file import import_events
from recorder.imports.otlp_bodies import import_bodies
from recorder.imports.phi_session import import_sessions
from recorder.imports.report import OnProgress, Report
from recorder.imports.stores.aidaemon import import_aidaemon
from recorder.imports.stores.cagent import import_cagent
from recorder.imports.stores.opencode import import_opencode
from recorder.imports.transcripts.file_cache import FileCache, state_of
from recorder.imports.transcripts.transcript_file import import_transcript
from recorder.journal.batch import Mixed
from recorder.models import Project

IMPORTERS: Mapping[str, Callable[..., None]] = {
    **{name: partial(import_events, form=name) for name in SENT},
    **{name: partial(import_transcript, form=name) for name in TRANSCRIPTS},
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
    is_written: Callable[[Path], bool] = lambda _: False,
    cache: FileCache | None = None,
) -> None:
    """Import the files that `detect.recordings` found; add the result of each to `report`.

    `on_progress` gets the bytes read since its last call and the name of the file. What a coding agent left
    open in a file of which `is_written` is true stays open also with `flush`. Files that are complete are
    added to the cache.
    """
    for each in found:
        read = IMPORTERS[each.kind]
        state, problems = state_of(each.path), len(report.problems)
        is_open = flush and each.kind in TRANSCRIPTS and is_written(each.path)
        report.written += is_open
        report.producers.clear()
        try:
            on_read = partial(on_progress, label=visible(each.path.name))
            read(project, each.path, report, on_read, flush=flush and not is_open)
        except OSError as error:
            report.problem(each.path, error.strerror or str(error))
            continue
        except Mixed as mixed:
            report.problem(
                each.path, f"{mixed}; import the file in the format in which it was imported before"
            )
            continue
        report.files += 1
        is_complete = flush and not is_open and len(report.problems) == problems
        if cache is not None and state is not None and is_complete:
            cache.add(each.path, each.kind, state, report.producers)
