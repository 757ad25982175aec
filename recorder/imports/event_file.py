"""Imports one event file: its lines in order, numbered from 0, under the name of its recording.

The same file, or the same file after it has grown, sends the same numbers under the same name, so only new
lines are stored. Loops that were recorded from another source are left out and take no number.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from loopscope_client.transcripts.files import producer_name
from recorder.core.formats.registry import TRANSCRIPTS
from recorder.imports.detect import is_object, opened
from recorder.imports.gzip_file import OverBoundError
from recorder.imports.overlap import Numbered, OverlapFilter
from recorder.imports.recordings import producer_of
from recorder.imports.report import Report
from recorder.imports.submit import Sender
from recorder.models import Project

LINE_MAX = 4 * 1024 * 1024
LINES, BYTES = 500, 2 * 1024 * 1024  # of one batch, and so of one transaction
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
    is_transcript = form in TRANSCRIPTS
    producer = _producer(project, path, form)
    with opened(path) as file:
        lines = _readable(_lines(file, on_progress), path, report)
        if is_transcript:
            lines = _without_part_of_line(lines, path, report if flush else None)
        if producer is None:
            next(lines, None)  # names the damage before the first line
            if flush or not is_transcript:
                report.problem(path, "no line could be read")
            return
        sender, overlap = Sender(project, producer, report, form=form), OverlapFilter(project, producer)
        for batch in _batches(overlap.lines_to_import(lines) if form == "native" else lines):
            _send(sender, batch, path, report)
    report.live += overlap.left_out
    if flush:
        sender.flush()
    sender.close()


def _producer(project: Project, path: Path, form: str) -> str | None:
    """Return the name of a file's producer; that of a transcript is the one under which it is pushed."""
    if form not in TRANSCRIPTS:
        return producer_of(project, lambda: _lines_of(path), is_native=form == "native")
    first = next(_without_part_of_line(_lines_of(path), path, None), None)
    return None if first is None else producer_name(form, path.name, first[1])


def _without_part_of_line(lines: Iterator[Numbered], path: Path, report: Report | None) -> Iterator[Numbered]:
    """Yield all lines but a last one that is not an object: its agent is writing it."""
    held: Numbered | None = None
    for numbered in lines:
        if held is not None:
            yield held
        held = numbered
    if held is None:
        return
    if is_object(held[1]):
        yield held
    elif report is not None:
        report.problem(path, f"line {held[0]} is not complete; it is imported once more lines follow")


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


def _batches(lines: Iterator[Numbered]) -> Iterator[list[Numbered]]:
    batch: list[Numbered] = []
    size = 0
    for number, line in lines:
        batch.append((number, line))
        size += len(line)
        if len(batch) == LINES or size > BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _send(sender: Sender, batch: list[Numbered], path: Path, report: Report) -> None:
    first = sender.sent
    for rejected in sender.send([line for _, line in batch]):
        number, _ = batch[rejected.seq - first]
        is_other = rejected.code == "seq_conflict"
        report.reject(path, f"line {number}", replace(rejected, message=OTHER) if is_other else rejected)


def _lines(file: BinaryIO, on_progress: Callable[[int], None]) -> Iterator[Numbered]:
    """Yield numbered lines that are not blank; of a line that is too long only its beginning."""
    number = 0
    while raw := file.readline(LINE_MAX + 2):
        number += 1
        on_progress(len(raw))
        if len(raw) > LINE_MAX + 1 and not raw.endswith(b"\n"):
            _skip_line(file, on_progress)
        line = raw.removesuffix(b"\n").removesuffix(b"\r")
        line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        if line.strip():
            yield number, line


def _skip_line(file: BinaryIO, on_progress: Callable[[int], None]) -> None:
    while rest := file.readline(LINE_MAX):
        on_progress(len(rest))
        if rest.endswith(b"\n"):
            return
