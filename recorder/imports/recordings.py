"""Finds the producer of an event file: the one whose stored lines the file begins with, else a new one.

Different recordings may begin with the same line, and a file may have grown since its import. Producers with
the same first line share the beginning of their names; the rest is a hash of the content. Cost: one pass
over the file, and one for each candidate over its stored lines, up to the first difference.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from recorder.imports.overlap import Numbered, OverlapFilter
from recorder.journal.identity import are_same, marks, unstored
from recorder.journal.producers import IMPORT_PREFIX
from recorder.masking.project_rules import masker_of
from recorder.models import JournalEvent, Producer, Project

BATCH = 500  # lines that are compared by one query
ReadLines = Callable[[], Iterator[Numbered]]


def producer_of(project: Project, read: ReadLines, *, is_native: bool) -> str | None:
    """Return the name of a file's producer; None without a line. `read` starts anew at each call."""
    first, content = b"", hashlib.sha256()
    for _, line in read():
        first = first or line
        content.update(line + b"\n")
    if not first:
        return None
    of_first = f"{IMPORT_PREFIX}{hashlib.sha256(first).hexdigest()[:32]}"
    for producer in Producer.objects.filter(project=project, name__startswith=of_first).order_by("pk"):
        if begins_with(producer, _numbered(project, producer.name, read, is_native=is_native)):
            return producer.name
    return f"{of_first}-{content.hexdigest()[:32]}"


def _numbered(project: Project, name: str, read: ReadLines, *, is_native: bool) -> Iterator[bytes]:
    """Yield the lines that get a number under this name."""
    lines = OverlapFilter(project, name).lines_to_import(read()) if is_native else read()
    return (line for _, line in lines)


def begins_with(producer: Producer, lines: Iterator[bytes]) -> bool:
    """Return whether the stored lines of a producer, without rejected ones, are the first of `lines`."""
    stored = islice(enumerate(lines), producer.high + 1)
    return all(_are_stored(producer, dict(batch)) for batch in _batches(stored))


def not_stored(producer: Producer, lines: Iterable[bytes]) -> list[bytes]:
    """Return the lines that a producer never sent, at whatever number."""
    rows = JournalEvent.objects.filter(producer=producer, kind="line")
    stored = marks(rows.values_list("pk", flat=True))
    return unstored(lines, stored.values(), masker_of(producer.project_id))


def _are_stored(producer: Producer, lines: dict[int, bytes]) -> bool:
    rows = JournalEvent.objects.filter(
        producer=producer, kind="line", seq__gte=min(lines), seq__lte=max(lines)
    )
    seqs = dict(rows.values_list("pk", "seq"))
    stored = marks(seqs)
    sent = [lines[seqs[pk] or 0] for pk in stored]
    return are_same(sent, list(stored.values()), masker_of(producer.project_id))


def _batches(lines: Iterator[tuple[int, bytes]]) -> Iterator[list[tuple[int, bytes]]]:
    while batch := list(islice(lines, BATCH)):
        yield batch
