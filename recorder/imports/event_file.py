"""Importing one event file: its lines in order, numbered from 0, under a name made from the first line.

The same file again, or the same file grown, sends the same numbers under the same name, so only what is new
counts. Loops that were recorded already from elsewhere are left out, and take no number.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from recorder.imports.detect import opened
from recorder.imports.overlap import Numbered, OverlapFilter
from recorder.imports.report import Report
from recorder.imports.submit import Sender
from recorder.journal.producers import IMPORT_PREFIX
from recorder.models import Project

LINE_MAX = 4 * 1024 * 1024
LINES, BYTES = 500, 2 * 1024 * 1024  # of one batch, and so of one transaction
OTHER = (
    "differs from what an earlier import stored for a file with the same first line; "
    "if this is another recording, give it another first line"
)


def import_events(
    project: Project,
    path: Path,
    report: Report,
    on_progress: Callable[[int], None],
    *,
    form: str = "native",
    flush: bool,
) -> None:
    """Import a file; everything up to a damage in it counts."""
    with opened(path) as file:
        lines = _readable(_lines(file, on_progress), path, report)
        first = next(lines, None)
        if first is None:
            report.problem(path, "no line could be read")
            return
        producer = _producer(first[1])
        sender, overlap = Sender(project, producer, report, form=form), OverlapFilter(project, producer)
        all_lines = chain([first], lines)
        for batch in _batches(overlap.lines_to_import(all_lines) if form == "native" else all_lines):
            _send(sender, batch, path, report)
    report.live += overlap.left_out
    if flush:
        sender.flush()
    sender.close()


def _readable(lines: Iterator[Numbered], path: Path, report: Report) -> Iterator[Numbered]:
    """Pass lines on until the packed data breaks off."""
    number = 0
    try:
        for number, line in lines:
            yield number, line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        report.problem(
            path,
            f"the packed data is damaged or cut off after line {number} ({error}); "
            "what came before it is imported, pack the file again for the rest",
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


def _producer(line: bytes) -> str:
    return f"{IMPORT_PREFIX}{hashlib.sha256(line).hexdigest()[:32]}"


def _lines(file: BinaryIO, on_progress: Callable[[int], None]) -> Iterator[Numbered]:
    """Yield numbered lines that are not blank; of one that is too long only its beginning."""
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
