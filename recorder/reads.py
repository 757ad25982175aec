"""A batch on its way through the journal: what its lines say, and what of it is new."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from recorder.batch import Batch, Receipt
from recorder.core.changes import Change
from recorder.core.formats import Parsed, Refused
from recorder.core.recorder import Line, Recorder


@dataclass(frozen=True, slots=True)
class Read:
    """A batch and what each of its lines says, or why it is refused."""

    batch: Batch
    parsed: list[Parsed | Refused]


@dataclass(slots=True)
class Appended:
    """What is new in the journal from one batch, for the recorder, and the answer to its producer."""

    producer: int
    receipt: Receipt
    lines: list[Line]
    received_at: datetime
    flush: int = 0  # the journal id of its flush

    def feed(self, recorder: Recorder) -> list[Change]:
        changes = recorder.feed(*self.lines)
        if self.flush:
            changes += recorder.flush(self.producer, self.received_at, self.flush)
        return changes
