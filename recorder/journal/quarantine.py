"""The quarantine: rejected lines, kept for people to see, without what masking left out of deltas.

A rejected line has no ids and times that anything relies on, so all of it is masked, as a text.
"""

from __future__ import annotations

from recorder.core.content.text import clean
from recorder.database import sql
from recorder.journal.batch import Batch, Rejected
from recorder.journal.streams.delta_lines import blanked
from recorder.masking.masker import Masker
from recorder.models import Producer

KEPT_BYTES = 64 * 1024  # of a line
PATH, MESSAGE = 500, 1000  # characters
QUARANTINE_COLUMNS = (
    "project_id", "producer_id", "seq", "code", "path", "message", "raw", "size", "received_at"
)  # fmt: skip


class Quarantine:
    """The rejected lines of one transaction in a project."""

    def __init__(self, project: int, masker: Masker) -> None:
        self._project = project
        self._masker = masker
        self._rows: list[tuple[sql.Value, ...]] = []
        self._adapt = sql.timestamp_encoder()

    @property
    def has_lines(self) -> bool:
        return bool(self._rows)

    def add(self, producer: Producer, refused: Rejected, batch: Batch, raw: bytes) -> None:
        """Add a line of a batch, and why it was rejected."""
        raw = self.masked(raw)
        path, message = (self._masker.mask_text(text) for text in (refused.path, refused.message))
        path, message = clean(path, PATH), clean(message, MESSAGE)
        about = (self._project, producer.pk, refused.seq, refused.code, path, message)
        self._rows.append((*about, raw[:KEPT_BYTES], len(raw), self._adapt(batch.received_at)))

    def masked(self, raw: bytes) -> bytes:
        """Return a line as it is kept, before it is cut."""
        return self._masker.mask_bytes(blanked(raw))

    def write(self) -> None:
        """Write the lines. One statement."""
        sql.write(sql.insert("recorder_quarantinedline", QUARANTINE_COLUMNS), self._rows)
