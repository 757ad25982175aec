"""Imports one event file: its lines in order, numbered from 0, under the name of its recording.

The same file, or the same file after it has grown, sends the same numbers under the same name, so only new
lines are stored. Loops that were recorded from another source are left out and take no number.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from loopscope_client.transcripts.lines import read_line
from loopscope_client.transcripts.long_lines import LINE_MAX
from recorder.imports.gzip_file import OverBoundError, opened
from recorder.imports.overlap import Numbered, OverlapFilter
from recorder.imports.recordings import producer_of
from recorder.imports.report import Report
from recorder.imports.submit import Sender, batches, send
from recorder.models import Project

OTHER = "differs from what an import that runs at the same time stored for this file; import it again"


def import_events(
    project: Project,
    path: Path,
    report: Report,
    on_progress: Callable[[int], None],
    *,
    form: str = "native",
    flush: bool,
) -> None:
    """Import a file; if it is damaged, everything before the damage."""
    producer = producer_of(project, lambda: _lines_of(path), is_native=form == "native")
    with opened(path) as file:
        lines = _readable(_lines(file, on_progress), path, report)
        if producer is None:
            next(lines, None)  # names the damage before the first line
            report.problem(path, "no line could be read")
            return
        sender, overlap = Sender(project, producer, report, form=form), OverlapFilter(project, producer)
        for batch in batches(overlap.lines_to_import(lines) if form == "native" else lines):
            send(sender, batch, path, report, OTHER)
    report.live += overlap.left_out
    if flush:
        sender.flush()
    sender.close()


def _lines_of(path: Path) -> Iterator[Numbered]:
    """Yield the readable lines of a file, without an error for damage."""
    with opened(path) as file:
        yield from _readable(_lines(file, lambda _: None), path, Report())


def _readable(lines: Iterator[Numbered], path: Path, report: Report) -> Iterator[Numbered]:
    """Yield lines until the compressed data ends or is damaged."""
    number = 0
    try:
        for number, line in lines:
            yield number, line
    except OverBoundError as error:
        report.problem(
            path, f"{error}; the lines up to {number} are imported, decompress the file for the rest"
        )
    except (EOFError, zlib.error) as error:
        report.problem(
            path,
            f"the compressed data is damaged or cut off after line {number} ({error}); "
            "everything before it is imported; compress the file again for the rest",
        )


def _lines(file: BinaryIO, on_progress: Callable[[int], None]) -> Iterator[Numbered]:
    """Yield numbered lines that are not blank; of a line that is too long only its beginning."""
    number = 0
    while (raw := read_line(file)) is not None:
        number += 1
        on_progress(raw.length)
        line = raw.text[: LINE_MAX + 2]
        line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        if line.strip():
            yield number, line
