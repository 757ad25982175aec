"""A batch on its way through the journal: what its lines say, and what of it is new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from recorder.core.events import Event
from recorder.core.formats import Parsed, Refused
from recorder.core.recorder import Line, Recorder
from recorder.core.records import Change, Origin
from recorder.database.sql import Value
from recorder.journal.batch import Batch, Receipt
from recorder.journal.delta.dedup_window import Window


@dataclass(frozen=True, slots=True)
class Read:
    """A batch and what each of its lines says, or why it is refused."""

    batch: Batch
    parsed: Sequence[Parsed | Refused]


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sent a batch: what all its lines have in common, in their rows and for the recorder."""

    key: int  # the producer's
    received_at: datetime
    stamp: Value  # the same as its column holds it
    source: str
    is_demo: bool
    window: Window
    written: dict[int, bytes]  # by number: lines of the transaction

    def line(self, line: int, event: Event, origin: Origin = "") -> Line:
        return Line(line, self.key, self.received_at, self.source, event, self.is_demo, origin)


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
