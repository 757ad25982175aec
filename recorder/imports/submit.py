"""Sends lines to the ingest pipeline under one producer's name."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from django.db.models import QuerySet

from recorder.database.errors import Busy
from recorder.imports.overlap import Numbered
from recorder.imports.report import Report
from recorder.ingest.commit.pipeline import Batch, Receipt, Rejected, ingest
from recorder.journal.repeats.settle import shares_lines
from recorder.models import LoopRecord, Producer, Project

LINES, BYTES = 500, 2 * 1024 * 1024  # of one batch, and so of one transaction
PATIENCE = 60  # seconds for which another process may hold the database


class Sender:
    """Numbers and sends the lines of one file, and counts the results."""

    def __init__(
        self,
        project: Project,
        producer: str,
        report: Report,
        *,
        form: str = "native",
        goes_on: bool = False,
    ) -> None:
        self.project, self.producer, self.report, self.form = project, producer, report, form
        high = Producer.objects.filter(project=project, name=producer).values_list("high", flat=True).first()
        self.sent = 0 if high is None or not goes_on else high + 1
        self._has_sent = False  # lines that are new
        self._sessions, self._loops = self._made()
        report.producers.add(producer)

    def send(self, lines: list[bytes]) -> list[Rejected]:
        """Send the next lines; return the rejected ones."""
        receipt = stored(Batch(self.project.pk, self.producer, self.sent, lines, self.form))
        self.sent += len(lines)
        self._has_sent |= receipt.accepted > 0
        self.report.events += receipt.accepted
        self.report.duplicates += receipt.duplicates
        return receipt.rejected

    def flush(self) -> None:
        """Mark the end of this producer's stream, if it left a loop open or has lines of other sessions."""
        is_open = self._of_it().filter(status__in=("running", "pending")).exists()
        if is_open or (self._has_sent and shares_lines(self.project.pk, self.producer)):
            stored(Batch(self.project.pk, self.producer, None, [], self.form, flush=True))

    def close(self) -> None:
        """Add the counts to the report."""
        sessions, loops = self._made()
        self.report.session_keys |= sessions - self._sessions
        self.report.loops += loops - self._loops

    def _of_it(self) -> QuerySet[LoopRecord]:
        return LoopRecord.objects.filter(producer__project=self.project, producer__name=self.producer)

    def _made(self) -> tuple[set[int], int]:
        rows = list(self._of_it().values_list("session_id", flat=True))
        return set(rows), len(rows)


def stored(batch: Batch) -> Receipt:
    """Store a batch; while another process writes, wait for it. Raises Busy after a minute."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return ingest(batch)
        except Busy as busy:
            if busy.code == "disk_full" or time.monotonic() > until:
                raise
            time.sleep(busy.retry_after_ms / 1000)  # as long as the refusal requests


def batches(lines: Iterator[Numbered]) -> Iterator[list[Numbered]]:
    """Yield lines in batches, each of which is one transaction."""
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


def send(sender: Sender, batch: list[Numbered], path: Path, report: Report, other: str) -> None:
    """Send a batch of a file and name the rejected lines; `other` says why a number has another line."""
    first = sender.sent
    for rejected in sender.send([line for _, line in batch]):
        number, _ = batch[rejected.seq - first]
        is_other = rejected.code == "seq_conflict"
        report.reject(path, f"line {number}", replace(rejected, message=other) if is_other else rejected)
