"""Imports the transcript of a coding agent: only what is new of a file that grew or was written anew.

A line has the number of its place in the file, as when it is sent. When what is recorded is no longer the
beginning of the file, its new lines follow what is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from loopscope_client.transcripts.files import producer_name
from recorder.imports.overlap import Numbered
from recorder.imports.recordings import not_stored
from recorder.imports.report import Report
from recorder.imports.submit import Sender, batches, send
from recorder.imports.transcripts.lines import Transcript
from recorder.journal.identity import are_same, marks
from recorder.journal.quarantine import KEPT_BYTES, Quarantine
from recorder.masking.project_rules import masker_of
from recorder.models import JournalEvent, Producer, Project, QuarantinedLine

OTHER = "another line was recorded in its place: the file was changed since, and this line is not recorded"


def import_transcript(
    project: Project,
    path: Path,
    report: Report,
    on_progress: Callable[[int], None],
    *,
    form: str,
    flush: bool,
) -> None:
    """Import a transcript; `flush`: its agent has ended. Raises OSError."""
    transcript = Transcript(form, path)
    if not transcript.first:
        if transcript.damage or flush:
            report.problem(path, transcript.damage or "no line could be read")
        return
    name = producer_name(form, path.name, transcript.first)
    producer = Producer.objects.filter(project=project, name=name).first()
    with_head = producer is None or _is_stored(producer, 0, transcript.head)
    lines = transcript.lines(on_progress, with_head=with_head)
    if producer is not None and not _goes_on(producer, transcript, with_head=with_head):
        lines = _new(producer, lines, path, report)
        sender = Sender(project, name, report, form=form, goes_on=True)
    else:
        sender = Sender(project, name, report, form=form)
    for batch in batches(lines):
        send(sender, batch, path, report, OTHER)
    if transcript.damage:
        report.problem(path, transcript.damage)
    if transcript.part_of_line is not None and flush:
        why = f"line {transcript.part_of_line} is not complete; it is imported once more lines follow"
        report.problem(path, why)
    if flush and transcript.part_of_line is None:
        sender.flush()
    sender.close()


def _is_stored(producer: Producer, seq: int, line: bytes) -> bool:
    """Return whether a line is recorded under a number."""
    rows = JournalEvent.objects.filter(producer=producer, kind="line", seq=seq)
    stored = list(marks(rows.values_list("pk", flat=True)).values())
    return bool(line) and are_same([line], stored, masker_of(producer.project_id))


def _rejected(producer: Producer) -> Callable[[bytes], bool]:
    """Return a function: whether a line is in quarantine, as it was rejected before."""
    rows = set(QuarantinedLine.objects.filter(producer=producer).values_list("size", "raw"))
    kept = {(size, bytes(raw)) for size, raw in rows}
    quarantine = Quarantine(producer.project_id, masker_of(producer.project_id))

    def is_rejected(line: bytes) -> bool:
        raw = quarantine.masked(line) if kept else b""
        return bool(kept) and (len(raw), raw[:KEPT_BYTES]) in kept

    return is_rejected


def _goes_on(producer: Producer, transcript: Transcript, *, with_head: bool) -> bool:
    """Return whether the recorded lines are the beginning of a file: it has the last one in its place.

    Lines of deleted sessions are not recorded, and must not be recorded again.
    """
    if producer.deletions:
        return True
    rows = JournalEvent.objects.filter(producer=producer, kind="line").order_by("-seq")
    last = rows.values_list("seq", flat=True).first()
    if last is None:
        return True
    lines = islice(transcript.lines(with_head=with_head), last, None)
    found = next(lines, None)
    return found is not None and _is_stored(producer, last, found[1])


def _new(producer: Producer, lines: Iterator[Numbered], path: Path, report: Report) -> Iterator[Numbered]:
    """Yield the lines of a file that are not recorded."""
    every = list(lines)
    rejected = _rejected(producer)
    new = {line for line in not_stored(producer, (line for _, line in every)) if not rejected(line)}
    found = [each for each in every if each[1] in new]
    report.duplicates += len(every) - len(found)
    if found:
        report.note(path, f"it was written anew since it was recorded: {len(found)} lines of it are new")
    yield from found
