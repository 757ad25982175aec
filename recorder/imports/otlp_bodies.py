"""Imports OTLP bodies as they were sent: `.json` or `.pb`, each also gzipped.

Spans are known by trace and span id, so a body that was sent or imported before changes nothing.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

from recorder.core.sources import OTLP
from recorder.imports.gzip_file import OverBoundError, opened
from recorder.imports.report import Report, UnusableError
from recorder.imports.submit import stored
from recorder.ingest.commit.pipeline import Batch
from recorder.ingest.commit.span_backlog import PRODUCER
from recorder.ingest.otlp.bodies import Unreadable, lines_of
from recorder.ingest.otlp.bounds import TooLarge
from recorder.ingest.otlp.endpoint import SIGNALS
from recorder.models import LoopRecord, Project

BODY_MAX = 64 * 1024 * 1024  # bytes of a body
LINES = 500  # of one transaction


def import_bodies(
    project: Project, path: Path, report: Report, on_progress: Callable[[int], None], *, flush: bool
) -> None:
    """Import one body; `flush` has no meaning, as spans do not end a stream."""
    del flush
    try:
        with opened(path) as file:
            body = file.read(BODY_MAX + 1)
    except (EOFError, zlib.error, OverBoundError) as error:
        report.problem(path, f"the compressed data is damaged or cut off ({error})")
        return
    on_progress(path.stat().st_size)
    if len(body) > BODY_MAX:
        report.problem(path, f"a body has at most {BODY_MAX} bytes")
        return
    try:
        lines = _lines(path.name, body)
    except UnusableError as error:
        report.problem(path, str(error))
        return
    loops_before = _loops(project)
    for start in range(0, len(lines), LINES):
        receipt = stored(Batch(project.pk, PRODUCER, None, lines[start : start + LINES], OTLP))
        report.events += receipt.accepted
        report.duplicates += receipt.duplicates
        for number, rejected in enumerate(receipt.rejected, start=start + 1):
            report.reject(path, f"span {number}", rejected)
    new = _loops(project) - loops_before
    report.loops += len(new)
    report.session_keys |= {session for _, session in new} - {session for _, session in loops_before}


def _loops(project: Project) -> set[tuple[int, int]]:
    rows = LoopRecord.objects.filter(producer__project=project, producer__name=PRODUCER)
    return set(rows.values_list("pk", "session__pk"))


def _lines(name: str, body: bytes) -> list[bytes]:
    """Return the lines of a body whose signal is known by its name, or found by trying."""
    is_json = body.lstrip()[:1] == b"{"
    named = [signal for signal in SIGNALS if signal in name]
    if is_json:
        keys = {"traces": b'"resourceSpans"', "logs": b'"resourceLogs"', "metrics": b'"resourceMetrics"'}
        named = [signal for signal in SIGNALS if keys[signal] in body]
    for signal in named or SIGNALS[:2]:
        try:
            return lines_of(signal, body, is_json=is_json).lines
        except Unreadable:
            continue
        except TooLarge as error:
            raise UnusableError(str(error)) from None
    raise UnusableError("no OTLP export request, in JSON or protobuf")
