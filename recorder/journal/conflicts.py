"""Compares duplicates with the stored lines: one with another content is a conflict, and is quarantined."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recorder.database import sql
from recorder.journal.batch import Batch, Rejected
from recorder.journal.delta.encoding import fingerprint
from recorder.journal.identity import Marks, marks, marks_of
from recorder.journal.quarantine import KEPT_BYTES
from recorder.models import Producer, QuarantinedLine

if TYPE_CHECKING:
    from recorder.journal.append import Journal


def reject(journal: Journal, producer: Producer, first: int, batch: Batch, known: int) -> list[Rejected]:
    """Return the duplicates that differ from the stored line; rejected lines were not stored."""
    stored = _stored(producer, first, known, journal.written.get(producer.pk, {}))
    found = []
    for place, raw in enumerate(batch.lines[:known]):
        have = stored.get(first + place)
        if have is not None and have.isdisjoint(marks_of(raw, journal.masker, batch.received.get(place))):
            refused = Rejected(first + place, "seq_conflict", "", "another line is stored under this number")
            found.append(refused)
            if not _is_quarantined(producer, refused.seq, journal.quarantine.masked(raw)):
                journal.quarantine.add(producer, refused, batch, raw)
    return found


def _stored(producer: Producer, first: int, number: int, pending: dict[int, bytes]) -> dict[int, Marks]:
    rows = sql.read(
        "SELECT seq, id FROM recorder_journalevent WHERE producer_id = %s AND seq BETWEEN %s AND %s",
        *(producer.pk, first, first + number - 1),
    )
    known = marks([line for _, line in rows])
    stored = {seq: known[line] for seq, line in rows}
    return stored | {
        seq: frozenset((fingerprint(pending[seq]),)) for seq in range(first, first + number) if seq in pending
    }


def _is_quarantined(producer: Producer, seq: int, raw: bytes) -> bool:
    kept = raw[:KEPT_BYTES]
    return QuarantinedLine.objects.filter(producer=producer, seq=seq, size=len(raw), raw=kept).exists()
